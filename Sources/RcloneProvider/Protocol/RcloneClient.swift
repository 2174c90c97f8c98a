import FileProvider
import Foundation
import HTTPTransport
import Logging
import NIOCore
import Surroundings
import Synchronization
import Waiting

/// Calls to one remote, through an rclone that is started with the first of them.
final class RcloneClient: Sendable {
    let server: RcloneServer
    let address: RcloneAddress
    /// The remote as rclone is told it: with options that only this mount has.
    private let place: Mutex<String>
    private let transport: SocketTransport
    private let password: @Sendable () async throws -> Secret?
    /// Transfers of documents' bytes at a time.
    private let transfers = AsyncSemaphore(8)
    /// The start whose configuration is known to be open.
    private let opened = Mutex(0)
    /// Looks at a new rclone one after another: opening its configuration may ask a person for a password.
    private let checking = AsyncSemaphore(1)
    private struct Refused {
        let generation: Int
        let moment: ContinuousClock.Instant
        let error: FileProviderError
    }
    /// The last time that the configuration could not be opened.
    private let refused = Mutex<Refused?>(nil)

    /// In seconds: how long a call waits for an rclone that has just been started.
    private static let patience = 10.0
    /// In seconds, for everything but transfers and moves.
    private static let longestCall = 1_200
    /// In bytes: of an answer.
    private static let longestAnswer = 256 << 20

    init(
        _ address: RcloneAddress, program: RcloneProgram, logger: Logger,
        password: @escaping @Sendable () async throws -> Secret?
    ) throws(FileProviderError) {
        self.address = address
        self.password = password
        place = Mutex(address.fs)
        server = try RcloneServer(program, logger: logger)
        transport = SocketTransport(socket: server.socket, name: "rclone")
    }

    var fs: String {
        get { place.withLock { $0 } }
        set { place.withLock { $0 = newValue } }
    }

    func shutdown() async {
        server.stop()
        await transport.shutdown()
    }

    /// For people: `REMOTE:PATH/NAME`.
    func describe(_ path: String) -> String {
        path.isEmpty
            ? address.fs : address.fs + (address.fs.hasSuffix(":") || address.fs.hasSuffix("/") ? "" : "/") + path
    }

    // MARK: The program

    /// Starts rclone, and waits until it answers.
    func wake() async throws(FileProviderError) { try await ready() }

    /// Starts rclone if need be, and waits until it answers.
    ///
    /// - Throws: ``FileProviderError/Code/serverUnreachable`` while it does not run.
    private func ready() async throws(FileProviderError) {
        server.start()
        let generation = server.generation
        if generation > 0, opened.withLock({ $0 }) == generation, server.pid != nil { return }
        let began = ContinuousClock.now
        let end = began + .seconds(Self.patience)
        while true {
            if server.pid != nil, access(server.socket, F_OK) == 0 {
                let now = server.generation
                do throws(FileProviderError) {
                    try await open(now, since: began)
                    return
                } catch { guard error.code == .serverUnreachable, ContinuousClock.now < end else { throw error } }
            }
            guard ContinuousClock.now < end, server.generation <= generation + 3 else { throw notRunning() }
            do { try await Task.sleep(for: .milliseconds(20)) } catch {
                throw FileProviderError(.cancelled, "rclone: not waited for any longer")
            }
        }
    }

    /// Looks at a new rclone, once for all calls that wait for it.
    private func open(_ generation: Int, since began: ContinuousClock.Instant) async throws(FileProviderError) {
        do { try await checking.enter() } catch {
            throw FileProviderError(.cancelled, "rclone: not waited for any longer")
        }
        defer { checking.leave() }
        if opened.withLock({ $0 }) == generation { return }
        if let refused = refused.withLock({ $0 }), refused.generation == generation, refused.moment > began {
            throw refused.error
        }
        do throws(FileProviderError) { try await check() } catch {
            if error.code == .notAuthenticated {
                refused.withLock { $0 = Refused(generation: generation, moment: .now, error: error) }
            }
            throw error
        }
        opened.withLock { $0 = generation }
    }

    private func notRunning() -> FileProviderError {
        let reason = server.complaint.map { " (\($0))" } ?? ""
        return FileProviderError(.serverUnreachable, "rclone: does not run, and is started again\(reason)")
    }

    /// A new rclone: its version, its configuration, the remote.
    private func check() async throws(FileProviderError) {
        let release = try await bare("core/version", RcloneParameters(), RcloneRelease.self)
        if case .success(let release) = release,
            let problem = RcloneProgram.problem(release.decomposed, release.version)
        {
            throw FileProviderError(.unsupported, problem)
        }
        var remotes = try await bare("config/listremotes", RcloneParameters(), RcloneRemotes.self)
        if case .failure(let refusal) = remotes, refusal.isLocked {
            var version: RcloneRelease?
            if case .success(let answer) = release { version = answer }
            try await unlock(version)
            remotes = try await bare("config/listremotes", RcloneParameters(), RcloneRemotes.self)
        }
        switch remotes {
        case .failure(let refusal): throw refusal.failure("rclone")
        case .success(let answer):
            let known = answer.remotes ?? []
            guard let name = address.configured, !known.contains(name) else { return }
            let list = known.isEmpty ? "there is none yet" : "there are: \(known.prefix(20).joined(separator: ", "))"
            throw FileProviderError(
                .unsupported,
                "“\(name)”: rclone's configuration has no such remote (\(list)); make it with rclone config")
        }
    }

    private func unlock(_ release: RcloneRelease?) async throws(FileProviderError) {
        if let problem = RcloneProgram.unlockingProblem(
            release?.decomposed, release?.version, server.program.environment)
        {
            throw FileProviderError(.notAuthenticated, problem)
        }
        let secret: Secret?
        do { secret = try await password() } catch {
            throw FileProviderError(.notAuthenticated, "rclone's configuration is encrypted: \(error)", cause: error)
        }
        guard let secret else {
            if server.program.environment["RCLONE_PASSWORD_COMMAND"] != nil {
                throw FileProviderError(
                    .notAuthenticated,
                    "rclone's configuration does not open with the password that RCLONE_PASSWORD_COMMAND prints")
            }
            throw FileProviderError(
                .notAuthenticated,
                "rclone's configuration is encrypted; set RCLONE_PASSWORD_COMMAND to a command that prints its "
                    + "password, or keep the password in the keyring (secret-tool store --label=rclone domain rclone "
                    + "xdg:schema hydrant.domain)")
        }
        var parameters = RcloneParameters()
        parameters.configPassword = secret.revealed
        if case .failure(let refusal) = try await bare("config/unlock", parameters, RcloneNothing.self) {
            throw FileProviderError(
                .notAuthenticated, "rclone's configuration does not open with the stored password (\(refusal.error))")
        }
    }

    // MARK: Calls

    /// What a call takes.
    enum Length {
        /// At most ``longestCall``.
        case aWhile
        case anyTime
        /// Any time, and a turn among the transfers.
        case aTransfer
    }

    /// A call, on an rclone that runs.
    func attempt<Answer: Decodable & Sendable>(
        _ name: String, _ parameters: RcloneParameters, as answer: Answer.Type = RcloneNothing.self,
        takes length: Length = .aWhile
    ) async throws(FileProviderError) -> Result<Answer, RcloneRefusal> {
        try await ready()
        switch length {
        case .aWhile: return try await bare(name, parameters, answer)
        case .anyTime: return try await bare(name, parameters, answer, within: nil)
        case .aTransfer: break
        }
        do { try await transfers.enter() } catch { throw FileProviderError(.cancelled, "\(name): given up") }
        defer { transfers.leave() }
        return try await bare(name, parameters, answer, within: nil)
    }

    /// A call whose every refusal is an error.
    ///
    /// - Parameter path: the item, for messages.
    @discardableResult
    func call<Answer: Decodable & Sendable>(
        _ name: String, _ parameters: RcloneParameters, on path: String, as answer: Answer.Type = RcloneNothing.self,
        takes length: Length = .aWhile
    ) async throws(FileProviderError) -> Answer {
        switch try await attempt(name, parameters, as: answer, takes: length) {
        case .success(let value): return value
        case .failure(let refusal): throw refusal.failure(describe(path))
        }
    }

    private func bare<Answer: Decodable & Sendable>(
        _ name: String, _ parameters: RcloneParameters, _ answer: Answer.Type,
        within limit: Duration? = .seconds(RcloneClient.longestCall)
    ) async throws(FileProviderError) -> Result<Answer, RcloneRefusal> {
        let body: [UInt8]
        do { body = Array(try JSONEncoder().encode(parameters)) } catch {
            throw FileProviderError(.invalidName, "\(name): cannot be put into a call to rclone", cause: error)
        }
        do throws(FileProviderError) {
            return try await transport.exchange(
                "POST", "/" + name, headers: [("Content-Type", "application/json")], body: body, within: limit
            ) { reply -> Result<Answer, RcloneRefusal> in
                let bytes = try await Self.whole(reply, name)
                guard reply.status == 200 else { return .failure(Self.refusal(bytes, reply.status)) }
                do { return .success(try JSONDecoder().decode(answer, from: bytes)) } catch {
                    throw FileProviderError(
                        .cannotSynchronize, "rclone: its answer to \(name) makes no sense", cause: error)
                }
            }
        } catch { throw told(error) }
    }

    private static func whole(_ reply: HTTPReply, _ name: String) async throws -> Data {
        var bytes = Data()
        for try await buffer in reply.body {
            bytes.append(contentsOf: buffer.readableBytesView)
            guard bytes.count <= longestAnswer else {
                throw FileProviderError(
                    .cannotSynchronize, "rclone: its answer to \(name) has more than \(longestAnswer >> 20) MiB")
            }
        }
        return bytes
    }

    static func refusal(_ bytes: Data, _ status: Int) -> RcloneRefusal {
        var refusal = try? JSONDecoder().decode(RcloneRefusal.self, from: bytes)
        refusal?.status = status
        let text = ShownText.line(String(decoding: bytes.prefix(200), as: UTF8.self))
        return refusal ?? RcloneRefusal(error: "status \(status): \(text)", status: status)
    }

    /// The connection's failure is rclone's: it has ended, and is being started again.
    private func told(_ error: FileProviderError) -> FileProviderError {
        guard error.code == .serverUnreachable, error.cause != nil else { return error }
        let isSame = opened.withLock { generation in
            defer { generation = 0 }
            return server.pid != nil && generation == server.generation
        }
        var failure = isSame ? FileProviderError(.serverUnreachable, "rclone: gave no answer") : notRunning()
        failure.cause = error
        failure.isTransient = true
        return failure
    }

    // MARK: Bytes

    /// The bytes of a document, as they arrive.
    func read<Value: Sendable>(
        _ path: String, _ range: Range<Int64>, _ take: (HTTPReply) async throws -> Value
    ) async throws(FileProviderError) -> Value {
        try await ready()
        do { try await transfers.enter() } catch { throw FileProviderError(.cancelled, "\(path): given up") }
        defer { transfers.leave() }
        let remote = ("[\(fs)]/" + path).utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let encoded = remote.map { PercentCoding.encode($0) }.joined(separator: "/")
        do throws(FileProviderError) {
            return try await transport.exchange(
                "GET", "/" + encoded, headers: [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")],
                within: nil, take)
        } catch { throw told(error) }
    }
}

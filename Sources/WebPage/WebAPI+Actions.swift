import ControlAPI
import Foundation
import NIOHTTP1
import Surroundings

/// What the page does for a person.
extension WebAPI {
    // MARK: At the mount

    func change(_ what: String, _ call: WebCall) async throws {
        let (domain, path) = (try domain(call), try path(call.path))
        switch what {
        case "rename", "move":
            let target: WebPath
            if what == "rename" {
                target = try path.parent.appending(try name(call))
            } else {
                guard let name = path.names.last else { throw WebProblem(.badRequest) }
                let folder = try self.path(call.folder)
                target = try WebPath(
                    PathBytes(bytes: (folder.bytes.isEmpty ? [] : folder.bytes + [WebPath.slash]) + name))
            }
            try await work.run(domain) { try $0.move(path, to: target) }
        case "folder":
            let target = try path.appending(try name(call))
            try await work.run(domain) { try $0.makeFolder(target) }
        default: try await work.run(domain) { try $0.delete(path) }
        }
    }

    private func name(_ call: WebCall) throws -> String {
        guard let name = call.name else { throw WebProblem(.badRequest) }
        return name
    }

    /// A document that comes in pieces.
    struct Upload: Sendable {
        fileprivate let work: MountWork
        fileprivate let domain: String
        fileprivate let upload: MountFolder.Upload

        func write(_ bytes: [UInt8]) async throws {
            try await work.goOn(domain) { [upload] _ in try upload.write(bytes) }
        }
        func finish() async throws { try await work.goOn(domain) { [upload] _ in try upload.finish() } }
        func discard() async { try? await work.goOn(domain) { [upload] _ in upload.discard() } }
    }

    /// - Parameter query: `domain`, `path` (base64 of the folder), `name`, and `replace`, which is `1` when a person has
    ///   agreed to replace a document of this name.
    func beginUpload(query: String) async throws -> Upload {
        guard let items = URLComponents(string: "?" + query)?.queryItems else { throw WebProblem(.badRequest) }
        func value(_ name: String) throws -> String {
            guard let value = items.first(where: { $0.name == name })?.value else { throw WebProblem(.badRequest) }
            return value
        }
        guard let folder = Data(base64Encoded: try value("path")) else { throw WebProblem(.badRequest) }
        var call = WebCall()
        call.domain = try value("domain")
        let domain = try domain(call)
        let target = try WebPath(PathBytes(bytes: folder)).appending(try value("name"))
        let replaces = (try? value("replace")) == "1"
        let upload = try await work.run(domain) { try $0.beginUpload(target, replaces: replaces) }
        return Upload(work: work, domain: domain, upload: upload)
    }

    // MARK: By the daemon

    /// - Returns: what the daemon answered.
    func act(_ what: String, _ call: WebCall) async throws -> any Encodable {
        let domain = try domain(call)
        switch what {
        // (A download goes on when the page is closed; its progress is in the domain's transfers.)
        case "download": return try await download(domain, try paths(call))
        case "cancel": return try await ask(domain, .cancelFetch(path: try path(call.path).path)).shown
        case "evict": return try await ask(domain, .evict(paths: try paths(call))).shown
        case "pin": return try await ask(domain, .pin(paths: try paths(call), waits: false)).shown
        case "unpin": return try await ask(domain, .unpin(paths: try paths(call))).shown
        case "share":
            let link = LinkRequest.make(password: nil, until: nil, edits: false)
            return try await ask(domain, .links(path: try path(call.path).path, link)).shown
        case "conflicts": return try await ask(domain, .conflicts).shown
        case "resolve":
            guard let keep = call.keep else { throw WebProblem(.badRequest) }
            return try await ask(domain, .resolve(path: try path(call.path).path, keep: keep), timeout: nil).shown
        case "retry": return try await ask(domain, .retry(paths: try paths(call), timeoutSeconds: 10)).shown
        case "discard":
            let paths = try paths(call)
            guard !paths.isEmpty else { throw WebProblem(.badRequest) }
            return try await ask(domain, .discard(paths: paths, agreed: call.agreed)).shown
        case "pause": return try await ask(domain, .pause).shown
        case "resume": return try await ask(domain, .resume).shown
        case "limit":
            return try await ask(domain, .limit(download: rate(call.download), upload: rate(call.upload))).shown
        default: throw WebProblem(.notFound)
        }
    }

    private func rate(_ value: Int64?) -> LimitChange {
        guard let value else { return .keep }
        return value == 0 ? .none : .bytesPerSecond(value)
    }

    /// Begins downloads. One that fails at once, or is over at once, says so; the others go on.
    private func download(_ domain: String, _ paths: [PathBytes]) async throws -> any Encodable {
        guard (1...Self.mostPaths).contains(paths.count) else { throw WebProblem(.badRequest) }
        let socket: String
        do { socket = try SocketDirectory.socketPath(mountPoint: domain) } catch {
            throw WebProblem(.serviceUnavailable, ShownText.line(error.message))
        }
        let first = FirstAnswer()
        Task {
            let response = try? await ControlClient(socketPath: socket).send(.download(paths: paths), timeout: nil)
            first.give(response)
        }
        Task {
            try? await Task.sleep(for: .seconds(1))
            first.give(nil)
        }
        guard let response = await first.value() else { return ["running": true] }
        if case .failure(let failure) = response {
            throw WebProblem(.conflict, ShownText.line(failure.message), code: failure.code)
        }
        return response.shown
    }
}

/// The first of several answers.
private final class FirstAnswer: Sendable {
    private let stream: AsyncStream<ControlResponse?>
    private let continuation: AsyncStream<ControlResponse?>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1)) }

    func give(_ response: ControlResponse?) { continuation.yield(response) }

    func value() async -> ControlResponse? {
        for await response in stream { return response }
        return nil
    }
}

extension ControlResponse {
    /// As the page gets it.
    fileprivate var shown: any Encodable {
        switch self {
        case .outcomes(let outcomes): outcomes.map(ShownOutcome.init)
        case .conflicts(let conflicts): conflicts
        case .deletions(let resolved): resolved
        case .links(let links): links
        case .synced(let pending): pending
        case .discards(let changes): changes
        case .settings(let settings): settings
        default: ["done": true]
        }
    }
}

private struct ShownOutcome: Encodable {
    var error: String?
    var bytes: Int64
    var note: String?

    init(_ outcome: PathOutcome) {
        error = outcome.error.map(ShownText.line)
        bytes = outcome.bytes
        note = outcome.note.map(ShownText.line)
    }
}

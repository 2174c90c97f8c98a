import ChildProcess
import FileProvider
import Foundation
package import HTTPTransport
package import Logging
import Synchronization

/// Finds the credentials where the AWS command line does, after those of `hydrant login`: in the environment
/// (`AWS_ACCESS_KEY_ID`), and in a profile of `~/.aws`, with its key, its program or its role.
///
/// Source: AWS SDKs and Tools Reference Guide, *Standardized credential providers*.
package actor S3CredentialChain: S3CredentialSource {
    package struct Places: Sendable {
        /// Those of `hydrant login`; nil: there are none.
        package var stored: @Sendable () async throws -> S3Credentials? = { nil }
        /// A profile that the user has named; nothing else is looked at then.
        package var profile: String?
        package var environment: [String: String] = [:]
        package var region: String?
        package var http = HTTPSettings()
        /// What a person does who has not signed in: `sign in with hydrant login work`.
        package var advice = "sign in with hydrant login"
        package init() {}
    }

    private let places: Places
    private let logger: Logger
    private var found: (credentials: S3Credentials, until: ContinuousClock.Instant?)?
    /// The last ones that were found, while a renewal fails.
    private var last: S3Credentials?
    /// Why the last look found none, which counts for a while: a program may ask a person each time.
    private var failed: (error: FileProviderError, until: ContinuousClock.Instant)?
    private var refusedAt: ContinuousClock.Instant?
    /// Of sign-ins.
    private var generation = 0
    /// Those who ask at the same time share one look.
    private var look: Task<Result<S3Credentials, FileProviderError>, Never>?
    private var transport: HTTPTransport?
    /// Set from any thread; the next question looks anew.
    private nonisolated let isStale = Mutex(false)

    /// How long keys from a file or a program without an end stay in use before they are looked up again.
    private static let patience = Duration.seconds(300)
    /// Temporary credentials are renewed before they end.
    private static let margin = Duration.seconds(300)
    /// Between two looks that find nothing that can be used.
    private static let pause = Duration.seconds(30)
    private static let longestChain = 4

    package init(_ places: Places, logger: Logger) {
        self.places = places
        self.logger = logger
    }

    package nonisolated func mayHaveChanged() { isStale.withLock { $0 = true } }

    package func end() async {
        if let transport { await transport.shutdown() }
        transport = nil
    }

    package func credentials() async throws -> S3Credentials? {
        if isStale.withLock({ stale in
            defer { stale = false }
            return stale
        }) {
            forget()
        }
        if let found, found.until.map({ $0 > .now }) ?? true { return found.credentials }
        if let failed, failed.until > .now {
            guard let usable else { throw failed.error }
            return usable
        }
        let generation = generation
        let running =
            look ?? Task { await attempt { () async throws(FileProviderError) in try await self.find(generation) } }
        look = running
        let result = await running.value
        if look == running { look = nil }
        if case .failure(let error) = result {
            // (A network that is back is used at once.)
            if generation == self.generation, error.code != .serverUnreachable {
                failed = (error, .now + Self.pause)
            }
            if let usable { return usable }
        }
        return try result.get()
    }

    /// The old ones, while they are valid.
    private var usable: S3Credentials? { last.flatMap { $0.expiration.map { $0 > .present } ?? false ? last : nil } }

    private func forget() {
        (found, last, look, failed) = (nil, nil, nil, nil)
        generation += 1
    }

    package func refused(_ keys: S3Credentials) async -> Bool {
        if found?.credentials == keys {
            // (Not for each request: a refused key stays one.)
            guard refusedAt.map({ $0.duration(to: .now) > Self.pause }) ?? true else { return false }
            refusedAt = .now
            forget()
        }
        // Otherwise another request has been told of it.
        guard let present = try? await credentials() else { return false }
        return present != keys
    }

    private func find(_ generation: Int) async throws(FileProviderError) -> S3Credentials {
        let credentials = try await looked()
        var until: ContinuousClock.Instant?
        if let end = credentials.value.expiration {
            let rest = Duration.seconds(max(0, end.seconds - FileTime.present.seconds))
            until = .now + max(rest - min(Self.margin, rest / 2), Self.pause)
        } else if !credentials.isStored {
            until = .now + Self.patience
        }
        // (Not what an old look has found after the user has signed in again.)
        if generation == self.generation {
            found = (credentials.value, until)
            failed = nil
            last = credentials.value
        }
        return credentials.value
    }

    private func looked() async throws(FileProviderError) -> (value: S3Credentials, isStored: Bool) {
        if let profile = places.profile { return (try await credentials(ofProfile: profile), false) }
        let stored: S3Credentials?
        do { stored = try await places.stored() } catch {
            throw error as? FileProviderError ?? FileProviderError(.notAuthenticated, "\(error)")
        }
        if let stored { return (stored, true) }
        if let credentials = inEnvironment { return (credentials, false) }
        let name = places.environment["AWS_PROFILE"] ?? "default"
        let profiles = try readProfiles()
        guard profiles[name] != nil || places.environment["AWS_PROFILE"] != nil else {
            throw FileProviderError(
                .notAuthenticated,
                "there is no access key: neither in Hydrant's, nor in AWS_ACCESS_KEY_ID, nor in ~/.aws; "
                    + places.advice)
        }
        return (try await credentials(ofProfile: name), false)
    }

    /// The settings of the profile in use, by key in lower case; empty: there is none.
    package static func profile(_ name: String?, _ environment: [String: String]) -> [String: String] {
        let profiles = try? readProfiles(environment)
        return profiles?[name ?? environment["AWS_PROFILE"] ?? "default"] ?? [:]
    }

    /// Whether there are credentials without a sign-in.
    package static func areAround(_ environment: [String: String], profile: String?) -> Bool {
        if profile != nil || environment["AWS_PROFILE"] != nil { return true }
        if environment["AWS_ACCESS_KEY_ID"] != nil, environment["AWS_SECRET_ACCESS_KEY"] != nil { return true }
        let profiles = try? Self.readProfiles(environment)
        return (try? profiles?.way(of: "default")) != nil
    }

    private var inEnvironment: S3Credentials? {
        let environment = places.environment
        guard let key = environment["AWS_ACCESS_KEY_ID"], let secret = environment["AWS_SECRET_ACCESS_KEY"] else {
            return nil
        }
        return S3Credentials(
            accessKey: key, secretKey: Secret(secret), sessionToken: environment["AWS_SESSION_TOKEN"].map { Secret($0) }
        )
    }

    // MARK: Profiles

    private func readProfiles() throws(FileProviderError) -> AWSProfiles { try Self.readProfiles(places.environment) }

    private static func readProfiles(_ environment: [String: String]) throws(FileProviderError) -> AWSProfiles {
        let home = environment["HOME"].map { $0 + "/.aws/" }
        return AWSProfiles(
            credentials: try text(environment["AWS_SHARED_CREDENTIALS_FILE"] ?? home.map { $0 + "credentials" }),
            config: try text(environment["AWS_CONFIG_FILE"] ?? home.map { $0 + "config" }))
    }

    /// Empty for a file that is not there.
    private static func text(_ path: String?) throws(FileProviderError) -> String {
        guard let path, access(path, F_OK) == 0 else { return "" }
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw FileProviderError(.notAuthenticated, "\(path): \(String(cString: strerror(errno)))")
        }
        defer { try? handle.close() }
        let data: Data
        do { data = try handle.read(upToCount: AWSProfiles.longest + 1) ?? Data() } catch {
            throw FileProviderError(.notAuthenticated, "\(path): cannot be read: \(error.localizedDescription)")
        }
        guard data.count <= AWSProfiles.longest else {
            throw FileProviderError(.notAuthenticated, "\(path): is longer than \(AWSProfiles.longest) bytes")
        }
        return String(decoding: data, as: UTF8.self)
    }

    private func credentials(
        ofProfile name: String, depth: Int = 0
    ) async throws(FileProviderError) -> S3Credentials {
        guard depth < Self.longestChain else {
            throw FileProviderError(.notAuthenticated, "the roles of the profile “\(name)” lead too far")
        }
        let profiles = try readProfiles()
        switch try profiles.way(of: name) {
        case .keys(let credentials): return credentials
        case .process(let command): return try await run(command, name)
        case .role(let role):
            let source: S3Credentials
            // A profile may be its own source: then it has a key as well.
            if role.source == name, let keys = profiles.keys(of: name) {
                source = keys
            } else {
                source = try await credentials(ofProfile: role.source, depth: depth + 1)
            }
            if transport == nil {
                transport = try HTTPTransport(
                    settings: places.http, credentials: FixedCredential(nil), logger: logger)
            }
            guard let transport else { throw FileProviderError(.notAuthenticated, "\(name): no connection") }
            let region = profiles[name]?["region"] ?? places.region ?? "us-east-1"
            let service = SecurityTokenService(
                transport: transport, region: region, endpoint: places.environment["AWS_ENDPOINT_URL_STS"])
            return try await service.assume(role, with: source)
        }
    }

    // MARK: Programs

    private func run(_ command: String, _ profile: String) async throws(FileProviderError) -> S3Credentials {
        let words = Self.words(command)
        let printed: Result<[UInt8], FileProviderError> = await withCheckedContinuation { continuation in
            // On a thread of its own: the program may ask a person.
            let thread = Thread {
                continuation.resume(returning: Self.output(words, profile))
            }
            thread.name = "credential"
            thread.start()
        }
        return try Self.credentials(fromProcess: try printed.get(), profile)
    }

    private static func output(_ words: [String], _ profile: String) -> Result<[UInt8], FileProviderError> {
        let what = "the credential_process of the profile “\(profile)”"
        guard let program = words.first else {
            return .failure(FileProviderError(.notAuthenticated, "\(what) is empty"))
        }
        do throws(ChildProcess.Failure) {
            let ending = try ChildProcess(words, limit: .seconds(120)).run(reading: .standardOutput)
            guard ending.status == 0 else {
                return .failure(
                    FileProviderError(
                        .notAuthenticated, "\(what), \(program), failed (status \(ending.status)); run it by hand"))
            }
            return .success(ending.printed)
        } catch { return .failure(FileProviderError(.notAuthenticated, "\(what), \(program): \(error)")) }
    }

    static func credentials(fromProcess bytes: [UInt8], _ profile: String) throws(FileProviderError) -> S3Credentials {
        struct Answer: Decodable {
            var version: Int
            var accessKey: String
            var secretKey: String
            var sessionToken: String?
            var expiration: String?

            enum CodingKeys: String, CodingKey {
                case version = "Version"
                case accessKey = "AccessKeyId"
                case secretKey = "SecretAccessKey"
                case sessionToken = "SessionToken"
                case expiration = "Expiration"
            }
        }
        guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(bytes)), answer.version == 1 else {
            throw FileProviderError(
                .notAuthenticated,
                "the credential_process of the profile “\(profile)” printed no credentials of version 1; run it by hand"
            )
        }
        return S3Credentials(
            accessKey: answer.accessKey, secretKey: Secret(answer.secretKey),
            sessionToken: answer.sessionToken.map { Secret($0) },
            expiration: answer.expiration.flatMap { HTTPDate.parse($0) }.map { FileTime(seconds: $0) })
    }

    /// As the AWS command line splits it (Python's `shlex.split`): at spaces, but for those in quotes or behind a
    /// backslash. In single quotes a backslash is one; in double quotes it counts before a quote and a backslash.
    static func words(_ command: String) -> [String] {
        var words: [String] = []
        var word = ""
        var hasWord = false
        var quote: Character?
        var characters = command.makeIterator()
        while let character = characters.next() {
            switch character {
            case "\\" where quote != "'":
                guard let next = characters.next() else { break }
                if quote != nil, next != "\"", next != "\\" { word.append(character) }
                word.append(next)
                hasWord = true
            case "\"" where quote != "'", "'" where quote != "\"":
                quote = quote == nil ? character : nil
                hasWord = true
            case " " where quote == nil, "\t" where quote == nil:
                if hasWord { words.append(word) }
                (word, hasWord) = ("", false)
            default:
                word.append(character)
                hasWord = true
            }
        }
        if hasWord { words.append(word) }
        return words
    }
}

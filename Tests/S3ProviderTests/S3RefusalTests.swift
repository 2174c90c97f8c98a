import FileProvider
import FileProviderTesting
import Foundation
import HTTPTransport
import Logging
import MountHarness
import S3Harness
import Synchronization
import Testing
import WebDAVHarness

@testable import S3Provider

/// Refused keys and objects, requests that wait, and servers that take long.
@Suite("S3: refusals and waits", .timeLimit(.minutes(10)))
struct S3RefusalTests {
    private static let empty403 = FaultProxy.Fault.reply(
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    private static func error(_ status: String, _ code: String) -> FaultProxy.Fault {
        FaultRow.answer(status, ["Content-Type: application/xml"], "<Error><Code>\(code)</Code></Error>")
    }

    private static func letter(_ name: Filename) -> ItemTemplate {
        ItemTemplate(
            parentIdentifier: .rootContainer, filename: name, kind: .document,
            contentModificationDate: FileTime(seconds: 1_600_000_000))
    }

    private static func withBucket(
        _ kind: S3ServerKind = .moto, _ adjust: @escaping @Sendable (inout S3Settings) -> Void = { _ in },
        _ body: (FaultProxy, S3Provider, S3TestBucket) async throws -> Void
    ) async throws {
        try await withS3(kind) { bucket in
            let proxy = try FaultProxy(port: bucket.port)
            defer { proxy.end() }
            let provider = try bucket.provider { settings in
                settings.endpoint = "http://127.0.0.1:\(proxy.port)"
                adjust(&settings)
            }
            for name in ["letter", "secret"] as [Filename] {
                _ = try await provider.createItem(letter(name), contents: BytesSource([1, 2, 3]))
            }
            try await body(proxy, provider, bucket)
            await provider.invalidate()
        }
    }

    // MARK: HEAD

    @Test("an object that cannot be asked for leaves the others of its folder readable")
    func oneObject() async throws {
        try await Self.withBucket { proxy, provider, _ in
            proxy.inject(Self.empty403, into: "HEAD", path: "/secret", times: .max)
            let items = try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items
            #expect(Set(items.map(\.filename)) == ["letter", "secret"])
            #expect(items.allSatisfy { $0.size == 3 })
            let error = await #expect(throws: FileProviderError.self) {
                try await provider.providePlaceholder(for: ItemIdentifier("secret"))
            }
            #expect(error?.code == .permissionDenied)
        }
    }

    /// The answer to a HEAD has no body, and so no code.
    @Test("a refused key is one, whatever request hears of it first")
    func refusedKey() async throws {
        try await Self.withBucket { proxy, provider, _ in
            for (status, code, expected) in [
                ("400 Bad Request", "ExpiredToken", FileProviderError.Code.notAuthenticated),
                ("403 Forbidden", "RequestTimeTooSkewed", .serverUnreachable),
            ] {
                proxy.inject(Self.empty403, into: "HEAD", path: "/letter", times: .max)
                proxy.inject(Self.error(status, code), into: "GET", path: "list-type=2", times: .max)
                let error = await #expect(throws: FileProviderError.self) {
                    try await provider.providePlaceholder(for: ItemIdentifier("letter"))
                }
                #expect(error?.code == expected, "\(String(describing: error))")
                proxy.clear()
            }
        }
    }

    @Test("an answer of 401, from something on the way, counts for one request")
    func one401() async throws {
        try await Self.withBucket { proxy, provider, _ in
            proxy.inject(FaultRow.answer("401 Unauthorized"), into: "HEAD", path: "/letter")
            let error = await #expect(throws: FileProviderError.self) {
                try await provider.providePlaceholder(for: ItemIdentifier("letter"))
            }
            #expect(error?.code == .notAuthenticated)
            let item = try await provider.providePlaceholder(for: ItemIdentifier("letter"))
            #expect(item.size == 3)
        }
    }

    // MARK: Credentials

    private static func chain(
        _ find: @escaping @Sendable () throws -> S3Credentials?
    ) -> S3CredentialChain {
        var places = S3CredentialChain.Places()
        places.stored = { try find() }
        return S3CredentialChain(places, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private static func provider(_ bucket: S3TestBucket, _ source: any S3CredentialSource) throws -> S3Provider {
        var settings = S3Settings()
        settings.endpoint = bucket.endpoint
        return try S3Provider(
            address: try S3Address(bucket.url), settings: settings, credentials: source,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private static func keys(_ secret: String) -> S3Credentials {
        S3Credentials(accessKey: S3TestServer.accessKey, secretKey: Secret(secret))
    }

    /// A key was replaced while the bucket is mounted.
    @Test("a refused key is looked up again", arguments: ["GET", "HEAD"])
    func renewed(_ method: String) async throws {
        try await withS3(.seaweedfs) { bucket in
            let direct = try bucket.provider()
            _ = try await direct.createItem(Self.letter("letter"), contents: BytesSource([1, 2, 3]))
            await direct.invalidate()
            let looks = Counter()
            let provider = try Self.provider(
                bucket, Self.chain { looks.next() == 1 ? Self.keys("wrong") : Self.keys(S3TestServer.secretKey) })
            if method == "HEAD" {
                #expect(try await provider.providePlaceholder(for: ItemIdentifier("letter")).size == 3)
            } else {
                #expect(try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items.count == 1)
            }
            #expect(looks.value == 2)
            await provider.invalidate()
            // One that stays wrong is not looked up for each request.
            let more = Counter()
            let refused = try Self.provider(
                bucket,
                Self.chain {
                    _ = more.next()
                    return Self.keys("wrong")
                })
            for _ in 0..<3 {
                let error = await #expect(throws: FileProviderError.self) {
                    try await refused.enumerateItems(in: .rootContainer, startingAt: nil)
                }
                #expect(error?.code == .notAuthenticated)
            }
            #expect(more.value == 2)
            await refused.invalidate()
        }
    }

    /// A program for a single sign-on may open a browser each time.
    @Test("a look for credentials that found none counts for a while")
    func noCredentials() async throws {
        let looks = Counter()
        let chain = Self.chain {
            _ = looks.next()
            throw FileProviderError(.notAuthenticated, "the sign-on has expired")
        }
        for _ in 0..<3 {
            let error = await #expect(throws: FileProviderError.self) { try await chain.credentials() }
            #expect(error?.message == "the sign-on has expired")
        }
        #expect(looks.value == 1)
        chain.mayHaveChanged()
        await #expect(throws: FileProviderError.self) { try await chain.credentials() }
        #expect(looks.value == 2)
        // Nor are keys whose time is up looked up for each request.
        let old = Counter()
        let expired = Self.chain {
            _ = old.next()
            var keys = Self.keys("old")
            keys.expiration = FileTime(seconds: 1)
            return keys
        }
        for _ in 0..<3 { _ = try await expired.credentials() }
        #expect(old.value == 1)
    }

    // MARK: Waits

    /// A signature is valid for 15 minutes.
    @Test("a request that waits for a free connection is signed when it is sent")
    func signedLate() async throws {
        try await withS3(.seaweedfs) { bucket in
            let proxy = try FaultProxy(port: bucket.port)
            defer { proxy.end() }
            let direct = try bucket.provider()
            let item = try await direct.createItem(Self.letter("letter"), contents: BytesSource([1, 2, 3]))
            await direct.invalidate()
            let keys = ChangingKeys(Self.keys(S3TestServer.secretKey))
            var settings = S3Settings()
            settings.endpoint = "http://127.0.0.1:\(proxy.port)"
            // (One for transfers.)
            settings.http.connections = 3
            let provider = try S3Provider(
                address: try S3Address(bucket.url), settings: settings, credentials: keys,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let isOver = DispatchSemaphore(value: 0)
            proxy.inject(.endsLater("HTTP/1.1 200 OK\r\n", isOver), into: "GET", path: "/letter")
            let read = { @Sendable () async -> [UInt8]? in
                let sink = CollectingSink(range: 0..<3)
                _ = try? await provider.startProvidingItem(
                    item.identifier, version: item.version.content, range: 0..<3, into: sink)
                return sink.bytes
            }
            let first = Task { await read() }
            try await Self.wait("the first request") { proxy.requests.contains { $0.hasPrefix("GET") } }
            keys.present = Self.keys("wrong")
            let count = keys.count
            let second = Task { await read() }
            try await Self.wait("the second request") { keys.count > count }
            keys.present = Self.keys(S3TestServer.secretKey)
            isOver.signal()
            #expect(await second.value == [1, 2, 3])
            _ = await first.value
            await provider.invalidate()
        }
    }

    @Test("documents in parts leave transfers to those who read")
    func readsWhileSending() async throws {
        // (Two transfers.)
        try await Self.withBucket(.moto, { $0.http.connections = 4 }) { proxy, provider, _ in
            let item = try await provider.providePlaceholder(for: ItemIdentifier("letter"))
            _ = try await provider.conditions.parts()
            let isOver = DispatchSemaphore(value: 0)
            proxy.inject(.endsLater("HTTP/1.1 2", isOver), into: "PUT", path: "partNumber=", times: .max)
            let sending = Task {
                try? await provider.createItem(
                    Self.letter("large"), contents: BytesSource([UInt8](repeating: 7, count: 40 << 20)))
            }
            func parts() -> Int { proxy.requests.count { $0.contains("/large?partNumber=") } }
            try await Self.wait("a part is sent") { parts() > 0 }
            let sink = CollectingSink(range: 0..<3)
            try await provider.startProvidingItem(
                item.identifier, version: item.version.content, range: 0..<3, into: sink)
            #expect(sink.bytes == [1, 2, 3])
            #expect(parts() == 1)
            sending.cancel()
            for _ in 0..<10 { isOver.signal() }
            _ = await sending.value
        }
    }

    private static func wait(_ what: Comment, _ condition: () -> Bool) async throws {
        for _ in 0..<600 {
            if condition() { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        Issue.record(what)
    }

    @Test("a copy may take longer than silence on a connection usually may")
    func longCopy() async throws {
        try await Self.withBucket(
            .moto,
            {
                $0.http.idleTimeout = 2
                $0.copyTimeout = 60
            }
        ) { proxy, provider, _ in
            let item = try await provider.providePlaceholder(for: ItemIdentifier("letter"))
            _ = try await provider.conditions.traits()
            proxy.inject(.late(5), into: "PUT", path: "/moved")
            let moved = try await provider.moveItem(
                item.identifier, to: .rootContainer, as: "moved", baseVersion: item.version)
            #expect(moved.filename == "moved")
        }
    }

    @Test("a server that does not finish a copy is not away")
    func endlessCopy() async throws {
        try await Self.withBucket(.moto, { $0.copyTimeout = 2 }) { proxy, provider, _ in
            let item = try await provider.providePlaceholder(for: ItemIdentifier("letter"))
            _ = try await provider.conditions.traits()
            proxy.inject(.hang(20), into: "PUT", path: "/moved")
            let error = await #expect(throws: FileProviderError.self) {
                try await provider.moveItem(
                    item.identifier, to: .rootContainer, as: "moved", baseVersion: item.version)
            }
            #expect(error?.code == .cannotSynchronize, "\(String(describing: error))")
        }
    }

    /// A server that works for minutes answers 200 at once.
    @Test("an answer of 200 that tells of a failure is one")
    func failureIn200() async throws {
        try await Self.withBucket(.moto, { $0.longestPut = 1 }) { proxy, provider, _ in
            _ = try await provider.conditions.parts()
            let item = try await provider.providePlaceholder(for: ItemIdentifier("letter"))
            let fault = Self.error("200 OK", "InternalError")
            proxy.inject(fault, into: "PUT", path: "/moved")
            let moving = await #expect(throws: FileProviderError.self) {
                try await provider.moveItem(
                    item.identifier, to: .rootContainer, as: "moved", baseVersion: item.version)
            }
            #expect(moving?.code == .cannotSynchronize, "\(String(describing: moving))")
            proxy.inject(fault, into: "POST", path: "uploadId=")
            let sending = await #expect(throws: FileProviderError.self) {
                try await provider.createItem(Self.letter("large"), contents: BytesSource([4, 5, 6]))
            }
            #expect(sending?.code == .cannotSynchronize, "\(String(describing: sending))")
            _ = try await provider.moveItem(
                item.identifier, to: .rootContainer, as: "moved", baseVersion: item.version)
            _ = try await provider.createItem(Self.letter("large"), contents: BytesSource([4, 5, 6]))
            let keys = try await provider.client.list("", isFlat: true).objects.map(\.key)
            #expect(keys == ["large", "moved", "secret"])
        }
    }

    // MARK: Parts

    @Test("an upload in parts that ended before its completion is sent again")
    func endedUpload() async throws {
        try await Self.withBucket(.moto, { $0.longestPut = 1 }) { proxy, provider, _ in
            _ = try await provider.conditions.parts()
            for (fault, code) in [
                (Self.error("404 Not Found", "NoSuchUpload"), FileProviderError.Code.busy),
                (Self.error("409 Conflict", "ConditionalRequestConflict"), .cannotSynchronize),
            ] {
                let before = proxy.requests.count
                proxy.inject(fault, into: "POST", path: "uploadId=")
                let error = await #expect(throws: FileProviderError.self) {
                    try await provider.createItem(Self.letter("large"), contents: BytesSource([4, 5, 6]))
                }
                #expect(error?.code == code, "\(String(describing: error))")
                let requests = proxy.requests[before...]
                #expect(requests.count { $0.hasPrefix("POST") && $0.contains("uploadId=") } == 1)
                #expect(requests.contains { $0.hasPrefix("DELETE") && $0.contains("uploadId=") }, "\(requests)")
            }
            let made = try await provider.createItem(Self.letter("large"), contents: BytesSource([4, 5, 6]))
            #expect(made.size == 3)
            let keys = try await provider.client.list("", isFlat: true).objects.map(\.key)
            #expect(keys == ["large", "letter", "secret"])
        }
    }
}

private final class Counter: Sendable {
    private let state = Mutex(0)
    var value: Int { state.withLock { $0 } }
    func next() -> Int {
        state.withLock { value in
            value += 1
            return value
        }
    }
}

private final class ChangingKeys: S3CredentialSource {
    private let state: Mutex<(keys: S3Credentials, count: Int)>
    init(_ keys: S3Credentials) { state = Mutex((keys, 0)) }
    /// The number of questions.
    var count: Int { state.withLock { $0.count } }
    var present: S3Credentials {
        get { state.withLock { $0.keys } }
        set { state.withLock { $0.keys = newValue } }
    }
    func credentials() async throws -> S3Credentials? {
        state.withLock { state in
            state.count += 1
            return state.keys
        }
    }
}

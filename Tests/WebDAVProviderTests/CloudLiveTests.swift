import FileProvider
import FileProviderTesting
import Foundation
import HTTPTransport
import MountHarness
import Synchronization
import Testing
import WebDAVHarness

@testable import WebDAVProvider

/// Nextcloud's capabilities, its apps notify_push and files_lock, and its previews, against the double.
@Suite("WebDAV: Nextcloud, live", .timeLimit(.minutes(10)))
struct CloudLiveTests {
    private static func withProvider(
        isSecure: Bool = false, _ capabilities: String, idleTimeout: Double = 30,
        _ body: (TestServer, WebDAVProvider) async throws -> Void
    ) async throws {
        var options = ServerOptions()
        (options.wantsPassword, options.isSecure) = (true, isSecure)
        try await withServer(.nextcloud, options) { server in
            try server.tell("capabilities", capabilities)
            let provider = try server.provider(idleTimeout: idleTimeout)
            let result: Result<Void, any Error>
            do { result = .success(try await body(server, provider)) } catch { result = .failure(error) }
            await provider.invalidate()
            try result.get()
        }
    }

    private static func template(_ name: Filename, _ kind: ItemKind = .document) -> ItemTemplate {
        ItemTemplate(
            parentIdentifier: .rootContainer, filename: name, kind: kind,
            contentModificationDate: FileTime(seconds: 1_700_000_000))
    }

    private static func until(_ what: String, _ condition: () async throws -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(bound(20))
        while try await !condition() {
            guard ContinuousClock.now < end else { throw HarnessError("not in time: \(what)") }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// The signals of a provider, as they come.
    private final class Heard: Sendable {
        private let signals: AsyncStream<ChangeSignal>
        private let task: Task<Void, Never>

        init(_ provider: WebDAVProvider) {
            let (stream, target) = AsyncStream<ChangeSignal>.makeStream()
            let source = provider.changeSignals()
            signals = stream
            task = Task {
                for await signal in source { target.yield(signal) }
                target.finish()
            }
        }

        /// Waits for one of these; nil: the provider has ended its stream.
        func first(of wanted: Set<ChangeSignal>) async throws -> ChangeSignal? {
            try await withThrowingTaskGroup(of: ChangeSignal?.self) { [signals] group in
                group.addTask {
                    for await signal in signals where wanted.contains(signal) { return signal }
                    return nil
                }
                group.addTask {
                    try await Task.sleep(for: .seconds(bound(20)))
                    throw HarnessError("none of these signals came: \(wanted)")
                }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
        }

        func end() async {
            task.cancel()
            await task.value
        }
    }

    // MARK: notify_push

    @Test("a change by others is signalled by its number, over http and https", arguments: [false, true])
    func push(_ isSecure: Bool) async throws {
        try await Self.withProvider(isSecure: isSecure, #"{"notify_push": true}"#) { server, provider in
            let item = try await provider.createItem(Self.template("a"), contents: BytesSource([1]))
            let heard = Heard(provider)
            try await Self.until("the connection is up") { provider.isSignaling }
            try Seeding(server.root).file("a", "longer than before")
            // (The server may not have read yet that we want to know the numbers.)
            #expect(try await heard.first(of: [.item(item.identifier), .everything]) != nil)
            try Seeding(server.root).file("a", "once more, longer than before")
            #expect(try await heard.first(of: [.item(item.identifier)]) == .item(item.identifier))
            try RealFileSystem(root: server.root).unlink("a")
            #expect(try await heard.first(of: [.item(item.identifier)]) == .item(item.identifier))
            await provider.invalidate()
            #expect(!provider.isSignaling)
            // It ends by itself.
            #expect(try await heard.first(of: []) == nil)
        }
    }

    @Test("a server that restarts is connected to again, and the connection ends with the provider")
    func reconnects() async throws {
        try await Self.withProvider(#"{"notify_push": true}"#) { server, provider in
            let heard = Heard(provider)
            try await Self.until("the connection is up") { provider.isSignaling }
            server.kill()
            try await Self.until("the connection is down") { !provider.isSignaling }
            try server.start()
            try await Self.until("the connection is up again") { provider.isSignaling }
            let item = try await provider.createItem(Self.template("a"), contents: BytesSource([1]))
            #expect(try await heard.first(of: [.item(item.identifier), .everything]) != nil)
        }
    }

    @Test("without the app the stream of signals ends at once, and no connection counts")
    func absent() async throws {
        try await Self.withProvider("{}") { _, provider in
            let heard = Heard(provider)
            let signal = try await heard.first(of: [])
            #expect(signal == nil && !provider.isSignaling)
        }
    }

    @Test("a refused password keeps the connection down until there is another one") func refused() async throws {
        try await Self.withProvider(#"{"notify_push": true}"#) { server, provider in
            let credentials = ChangingCredential(.basic(user: TestServer.user, password: Secret("wrong")))
            // (The provider's own requests need a good one.)
            let other = try server.provider(credentials: credentials)
            credentials.value = .basic(user: TestServer.user, password: Secret(TestServer.password))
            _ = try await other.probe.traits()
            credentials.value = .basic(user: TestServer.user, password: Secret("wrong"))
            other.credentialMayHaveChanged()
            let heard = Heard(other)
            try await Self.until("the password was tried") { credentials.asked >= 2 }
            #expect(!other.isSignaling)
            credentials.value = .basic(user: TestServer.user, password: Secret(TestServer.password))
            try await Self.until("the connection is up") {
                other.credentialMayHaveChanged()
                return other.isSignaling
            }
            await other.invalidate()
            await heard.end()
        }
    }

    @Test("a Nextcloud that cannot say whether the password is right has not refused it") func failing() async throws {
        try await Self.withProvider(#"{"notify_push": true}"#) { server, provider in
            let error = "err: Error while sending authentication request to nextcloud: Server error: 503"
            try server.tell("push", #"{"answer": "\#(error)"}"#)
            let heard = Heard(provider)
            // (After a refused password the second try would come a quarter of an hour later.)
            try await Self.until("it was tried twice") {
                let answers = FileManager.default.contents(atPath: server.root + ".state/answered.json") ?? Data()
                return try answers.isEmpty ? false : JSONDecoder().decode([Int].self, from: answers).count >= 2
            }
            #expect(!provider.isSignaling)
            await provider.invalidate()
            await heard.end()
        }
    }

    private final class ChangingCredential: CredentialSource {
        private let state: Mutex<(value: Credential, asked: Int)>
        init(_ value: Credential) { state = Mutex((value, 0)) }
        var value: Credential {
            get { state.withLock { $0.value } }
            set { state.withLock { $0.value = newValue } }
        }
        var asked: Int { state.withLock { $0.asked } }
        func credential() async throws -> Credential? {
            state.withLock { state in
                state.asked += 1
                return state.value
            }
        }
    }

    @Test("a server that opens no WebSocket, or does not go on, keeps nothing waiting")
    func badSockets() async throws {
        try await Self.withProvider(#"{"notify_push": true}"#) { server, provider in
            // A page of another kind.
            await #expect {
                try await provider.client.transport.withWebSocket(at: provider.root) { _ in }
            } throws: {
                ($0 as? FileProviderError)?.code == .serverUnreachable
            }
            // The server waits for a name and a password.
            let place = try #require(try await provider.probe.traits().capabilities.push)
            let task = Task {
                try await provider.client.transport.withWebSocket(at: place) { socket in
                    for try await text in socket.texts { Issue.record("\(text)") }
                }
            }
            try await Task.sleep(for: .milliseconds(100))
            let start = ContinuousClock.now
            task.cancel()
            await #expect {
                try await task.value
            } throws: {
                ($0 as? FileProviderError)?.code == .cancelled
            }
            #expect(start.duration(to: .now) < .seconds(10))
        }
    }

    @Test(
        "messages of the server",
        arguments: [
            ("authenticated", PushMessage.authenticated), ("err: Invalid credentials", .refused),
            ("err: Error while sending authentication request to nextcloud: Server error: 503", .failed),
            ("err: Invalid authentication message", .failed), ("err:", .failed),
            ("notify_file", .changed([])), ("notify_file_id [7,8]", .changed([7, 8])),
            ("notify_file_id [ 7 ]", .changed([7])), ("notify_file_id []", .changed([])),
            ("notify_file_id [7,x]", .changed([])), ("notify_file_id [99999999999999999999]", .changed([])),
            ("notify_file_id [\(Array(repeating: "1", count: 2_000).joined(separator: ","))]", .changed([])),
            ("notify_activity", .other), ("", .other), ("notify_file_idx [1]", .other),
        ])
    func messages(_ text: String, _ message: PushMessage) { #expect(PushMessage(text) == message) }

    @Test("pauses between connections grow, have a bound, and begin anew after a good connection") func pauses() {
        var pauses = PushPauses()
        var lengths = (0..<20).map { _ in pauses.next(after: .zero) }
        #expect(
            lengths[0] <= .seconds(1.5) && lengths[19] >= .seconds(150) && lengths.allSatisfy { $0 <= .seconds(450) })
        #expect(pauses.next(after: .seconds(3_600)) <= .seconds(1.5))
        lengths = (0..<20).map { _ in pauses.next(after: .zero, isRefused: true) }
        #expect(lengths.allSatisfy { $0 >= .seconds(450) } && Set(lengths).count > 1)
    }

    // MARK: Rules for names

    private static let rules = """
        {"files": {"forbidden_filenames": [".htaccess", "Thumbs.db"], "forbidden_filename_basenames": ["con", "lpt1"],
         "forbidden_filename_characters": ["\\\\", "?", "*"], "forbidden_filename_extensions": [".part", ".exe", " ", "."]}}
        """

    @Test(
        "names that the server's rules forbid are refused before anything is sent",
        arguments: ["thumbs.DB", "con", "CON.txt", "lpt1.a.b", "what?", "setup.EXE", "end ", "end."])
    func forbidden(_ name: String) async throws {
        try await Self.withProvider(Self.rules) { server, provider in
            let proxy = try FaultProxy(to: server)
            defer { proxy.end() }
            let watched = try server.provider(at: "http://localhost:\(proxy.port)\(server.path)")
            let kept = try await watched.createItem(Self.template("kept"), contents: BytesSource([1]))
            let before = proxy.requests.filter { !$0.hasPrefix("PROPFIND") }.count
            let isRefused: @Sendable (any Error) -> Bool = {
                let error = $0 as? FileProviderError
                return error?.code == .invalidName && error?.message.contains("this server takes no") == true
            }
            await #expect {
                _ = try await watched.createItem(Self.template(Filename(name)), contents: BytesSource([1]))
            } throws: { isRefused($0) }
            await #expect {
                _ = try await watched.createItem(Self.template(Filename(name), .folder), contents: nil)
            } throws: { isRefused($0) }
            await #expect {
                _ = try await watched.moveItem(
                    kept.identifier, to: .rootContainer, as: Filename(name), baseVersion: kept.version)
            } throws: { isRefused($0) }
            #expect(proxy.requests.filter { !$0.hasPrefix("PROPFIND") }.count == before)
            #expect(try Seeding(server.root).names() == ["kept"])
            await watched.invalidate()
        }
    }

    @Test("names beside the rules are taken", arguments: ["console", "con1.txt", ".con", "exe", "a.exe.txt", "part"])
    func allowed(_ name: String) async throws {
        try await Self.withProvider(Self.rules) { server, provider in
            _ = try await provider.createItem(Self.template(Filename(name)), contents: BytesSource([1]))
            #expect(try Seeding(server.root).names() == [name])
        }
    }

    @Test("a Nextcloud before 30 has a list of names only; a document of a forbidden name stays readable")
    func blacklist() async throws {
        try await Self.withProvider(#"{"files": {"blacklisted_files": ["desktop.ini"]}}"#) { server, provider in
            try Seeding(server.root).file("desktop.ini", "there")
            await #expect {
                _ = try await provider.createItem(Self.template("Desktop.INI"), contents: BytesSource([1]))
            } throws: {
                ($0 as? FileProviderError)?.code == .invalidName
            }
            let item = try #require(
                try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items.first)
            let sink = BytesSink()
            try await provider.startProvidingItem(
                item.identifier, version: item.version.content, range: 0..<5, into: sink)
            #expect(sink.bytes == Array("there".utf8))
            let changed = try await provider.itemChanged(
                item.identifier, contents: BytesSource(Array("changed".utf8)),
                metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 1_700_000_000)),
                baseVersion: item.version)
            #expect(changed.size == 7)
        }
    }

    private final class BytesSink: ContentSink {
        private let all = Mutex<[UInt8]>([])
        var bytes: [UInt8] { all.withLock { $0 } }
        func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) { all.withLock { $0 += bytes } }
    }

    @Test(
        "answers about the capabilities that are odd leave the defaults",
        arguments: [
            "", "[]", "{", #"{"ocs": []}"#, #"{"ocs": {"data": {"capabilities": []}}}"#,
            #"{"ocs": {"data": {"capabilities": {"files": [], "notify_push": "x"}}}}"#,
            #"{"ocs": {"data": {"capabilities": {"files": {"forbidden_filenames": 7, "locking": null}}}}}"#,
            #"{"ocs": {"data": {"capabilities": {"notify_push": {"endpoints": {"websocket": "ftp://h/ws"}}}}}}"#,
        ])
    func oddCapabilities(_ json: String) throws {
        let root = try #require(HTTPLocation("https://h/nc/remote.php/dav/files/ada/"))
        let cloud = try #require(CloudPlaces(root: root))
        #expect(CloudCapabilities(Array(json.utf8), cloud) == CloudCapabilities())
    }

    @Test(
        "a server that cannot say just now what it can do is asked again; one that has no such page is not",
        arguments: [(502, true), (500, true), (429, true), (404, false), (501, false)])
    func lateCapabilities(_ status: Int, _ mayPass: Bool) async throws {
        try await Self.withProvider(#"{"status": \#(status)}"#) { server, provider in
            if mayPass {
                await #expect {
                    _ = try await provider.probe.traits()
                } throws: {
                    ($0 as? FileProviderError)?.code == .serverUnreachable
                }
            } else {
                #expect(try await provider.probe.traits().capabilities == CloudCapabilities())
            }
            try server.tell("capabilities", #"{"notify_push": true, "files": {"locking": "1.0"}}"#)
            let capabilities = try await provider.probe.traits().capabilities
            #expect((capabilities.push != nil) == mayPass && capabilities.hasLocks == mayPass)
        }
    }

    @Test(
        "a public link, or the old URL, names no user of the server",
        arguments: [
            "https://h/public.php/dav/files/TOKEN/", "https://h/nc/public.php/webdav/", "https://h/remote.php/webdav/",
            "https://h/dav/files/ada/", "https://h/remote.php/dav/files/",
        ])
    func noUser(_ url: String) throws {
        #expect(try CloudPlaces(root: #require(HTTPLocation(url))) == nil)
    }

    @Test("the WebSocket is on the server that the user named") func socket() throws {
        let root = try #require(HTTPLocation("https://h/nc/remote.php/dav/files/ada/"))
        let cloud = try #require(CloudPlaces(root: root))
        let json =
            #"{"ocs": {"data": {"capabilities": {"notify_push": {"endpoints": {"websocket": "ws://evil:1/push/ws"}}}}}}"#
        #expect(CloudCapabilities(Array(json.utf8), cloud).push?.url == "https://h/push/ws")
    }

    // MARK: Locks

    private static let locking = #"{"files": {"locking": "1.0", "api-feature-lock-type": true}}"#

    @Test(
        "a document that another user, or an app, has locked is read-only, and a change names the owner",
        arguments: [
            (#"{"a": {"owner": "bob", "name": "Bob <b>", "type": 0}}"#, "Bob <b>"),
            (#"{"a": {"owner": "richdocuments", "name": "Nextcloud Office", "type": 1}}"#, "Nextcloud Office"),
            (#"{"a": {"owner": "alice", "name": "", "type": 2}}"#, "alice"),
        ])
    func locked(_ locks: String, _ owner: String) async throws {
        try await Self.withProvider(Self.locking) { server, provider in
            let made = try await provider.createItem(Self.template("a"), contents: BytesSource([1]))
            #expect(made.capabilities.contains(.writing))
            try server.tell("locks", locks)
            let item = try await provider.providePlaceholder(for: made.identifier)
            #expect(item.capabilities == .readOnly && item.version.metadata != made.version.metadata)
            let isRefused: @Sendable (any Error) -> Bool = {
                let error = $0 as? FileProviderError
                return error?.code == .busy && error?.message.contains("is locked on the server by \(owner);") == true
            }
            let metadata = ItemMetadata(contentModificationDate: FileTime(seconds: 1_700_000_100))
            // (The lock gives the document another tag: a change from before it is no conflict.)
            for (size, version) in [(2, item.version), (300 << 10, item.version), (2, made.version)] {
                await #expect {
                    _ = try await provider.itemChanged(
                        item.identifier, contents: BytesSource(noise(size)), metadata: metadata,
                        baseVersion: version)
                } throws: { isRefused($0) }
            }
            await #expect {
                try await provider.deleteItem(item.identifier, baseVersion: item.version)
            } throws: { isRefused($0) }
            await #expect {
                _ = try await provider.moveItem(
                    item.identifier, to: .rootContainer, as: "b", baseVersion: item.version)
            } throws: { isRefused($0) }
            #expect(try Seeding(server.root).read("a") == [1])
            try server.tell("locks", "{}")
            let free = try await provider.providePlaceholder(for: made.identifier)
            #expect(free.capabilities.contains(.writing))
            _ = try await provider.itemChanged(
                free.identifier, contents: BytesSource([2]), metadata: metadata, baseVersion: free.version)
            #expect(try Seeding(server.root).read("a") == [2])
        }
    }

    @Test("the user's own lock is in nobody's way here") func ownLock() async throws {
        try await Self.withProvider(Self.locking) { server, provider in
            let made = try await provider.createItem(Self.template("a"), contents: BytesSource([1]))
            try server.tell("locks", #"{"a": {"owner": "alice", "name": "Alice", "type": 0}}"#)
            let item = try await provider.providePlaceholder(for: made.identifier)
            #expect(item.capabilities.contains(.writing))
            _ = try await provider.itemChanged(
                item.identifier, contents: BytesSource([2]),
                metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 1_700_000_100)),
                baseVersion: item.version)
        }
    }

    // MARK: Previews

    @Test("a preview is asked for by the document's number, and belongs to the wanted version") func previews()
        async throws
    {
        try await Self.withProvider("{}") { server, provider in
            // (The double looks at the head only.)
            let picture: [UInt8] =
                [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13] + Array("IHDR".utf8)
                + [0, 0, 3, 132, 0, 0, 2, 88, 8, 2, 0, 0, 0]
            let item = try await provider.createItem(Self.template("p.png"), contents: BytesSource(picture))
            let thumbnail = try #require(
                try await provider.thumbnail(of: item.identifier, version: item.version.content, size: 64))
            #expect(thumbnail.bytes.starts(with: [0x89, 0x50, 0x4e, 0x47]))
            let text = try await provider.createItem(Self.template("t.txt"), contents: BytesSource([1]))
            #expect(try await provider.thumbnail(of: text.identifier, version: text.version.content, size: 64) == nil)
            try Seeding(server.root).file("p.png", picture + [0])
            await #expect {
                _ = try await provider.thumbnail(of: item.identifier, version: item.version.content, size: 64)
            } throws: {
                ($0 as? FileProviderError)?.code == .versionMismatch
            }
        }
    }

    @Test(
        "an answer that is no picture, or too large a one, gives no thumbnail; a failing server is an error",
        arguments: [
            ("200 OK", "text/html", 10, true), ("200 OK", "image/svg+xml", 10, true),
            ("200 OK", "image/png", 5 << 20, true),
            ("400 Bad Request", "application/json", 2, true), ("404 Not Found", "application/json", 2, true),
            ("500 Internal Server Error", "text/html", 2, false),
        ])
    func oddPreviews(_ status: String, _ type: String, _ size: Int, _ isNone: Bool) async throws {
        try await Self.withProvider("{}") { server, provider in
            let proxy = try FaultProxy(to: server)
            defer { proxy.end() }
            let watched = try server.provider(at: "http://localhost:\(proxy.port)\(server.path)")
            let item = try await watched.createItem(Self.template("p.png"), contents: BytesSource([1]))
            let head =
                "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nContent-Length: \(size)\r\nConnection: close\r\n\r\n"
            proxy.inject(
                .reply(head + String(repeating: "x", count: size)), into: "GET", path: "/index.php/core/preview",
                times: 1_000)
            if isNone {
                #expect(
                    try await watched.thumbnail(of: item.identifier, version: item.version.content, size: 64) == nil)
            } else {
                await #expect(throws: FileProviderError.self) {
                    _ = try await watched.thumbnail(of: item.identifier, version: item.version.content, size: 64)
                }
            }
            #expect(proxy.requests.contains { $0.hasPrefix("GET /index.php/core/preview") })
            await watched.invalidate()
        }
    }
}

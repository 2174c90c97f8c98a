import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import HTTPTransport
import Logging
import MountHarness
import SyncEngine
import Synchronization
import Testing
import WebDAVHarness

@testable import WebDAVProvider

/// Faults of networks and servers, one row each: the results of a read, a listing and an upload. The document on the server
/// is always the old or the new one, whole.
@Suite("WebDAV: faults", .timeLimit(.minutes(10)))
struct FaultTests {
    enum Outcome: Equatable, CustomStringConvertible {
        case done
        case fails(FileProviderError.Code)

        var description: String {
            switch self {
            case .done: "done"
            case .fails(let code): code.description
            }
        }

        /// The result of a read or a listing, for the page.
        var reader: String {
            guard case .fails(let code) = self else { return "succeeds" }
            let number = FailureTable.row(code).errno
            let names = [
                ENOENT: "ENOENT", EHOSTUNREACH: "EHOSTUNREACH", EACCES: "EACCES", EDQUOT: "EDQUOT", EIO: "EIO",
                EBUSY: "EBUSY", ENOTSUP: "ENOTSUP",
            ]
            return "`\(names[number] ?? "\(number)")`"
        }

        /// The result of an upload, for the page.
        var writer: String {
            guard case .fails(let code) = self else { return "succeeds" }
            return FailureTable.hint(sending: code.description).map { "waits: \($0)" } ?? "waits, and is sent again"
        }
    }
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var fault: FaultProxy.Fault
        var times = 1
        /// Of a download, a look into the folder, and a change of the document.
        var read: Outcome
        /// Of a download, where it comes each time; nil: the same.
        var lasting: Outcome?
        var listing: Outcome
        var write: Outcome
        /// Seconds. Short where it has to pass; a busy machine lets others wait as well.
        var idleTimeout: Double { if case .hang = fault { 4 } else { 30 } }
        var testDescription: String { name }
    }

    private static func answer(_ status: String, _ head: [String] = [], _ body: String = "") -> FaultProxy.Fault {
        let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)", "Connection: close"] + head
        return .reply(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
    }

    private static let page = "<!DOCTYPE html><html><body>Welcome to our hotel</body></html>"
    static let rows: [Row] = [
        Row(
            name: "reset", fault: .reset, read: .done, lasting: .fails(.serverUnreachable), listing: .done, write: .done
        ),
        Row(
            name: "cut in the middle", fault: .cut(600), read: .done, listing: .fails(.serverUnreachable), write: .done),
        Row(
            name: "hang", fault: .hang(12), read: .fails(.serverUnreachable), listing: .fails(.serverUnreachable),
            write: .fails(.serverUnreachable)),
        Row(name: "slow drip", fault: .drip(400_000), read: .done, listing: .done, write: .done),
        Row(
            name: "Content-Length too large", fault: .rewrite("Content-Length: ", "Content-Length: 9"), read: .done,
            listing: .fails(.serverUnreachable), write: .done),
        Row(
            name: "401", fault: answer("401 Unauthorized"), times: 9, read: .fails(.notAuthenticated),
            listing: .fails(.notAuthenticated), write: .fails(.notAuthenticated)),
        Row(
            name: "403", fault: answer("403 Forbidden"), read: .fails(.permissionDenied),
            listing: .fails(.permissionDenied), write: .fails(.permissionDenied)),
        Row(
            name: "404", fault: answer("404 Not Found"), times: 9, read: .fails(.noSuchItem),
            listing: .fails(.noSuchItem),
            write: .fails(.cannotSynchronize)),
        Row(
            name: "405", fault: answer("405 Method Not Allowed"), read: .fails(.unsupported),
            listing: .fails(.cannotSynchronize), write: .fails(.unsupported)),
        Row(
            name: "409", fault: answer("409 Conflict"), read: .done, lasting: .fails(.cannotSynchronize),
            listing: .fails(.cannotSynchronize), write: .fails(.cannotSynchronize)),
        Row(
            name: "412 once", fault: answer("412 Precondition Failed"), read: .done,
            lasting: .fails(.cannotSynchronize),
            listing: .fails(.cannotSynchronize), write: .done),
        Row(
            name: "413", fault: answer("413 Content Too Large"), read: .fails(.insufficientQuota),
            listing: .fails(.insufficientQuota), write: .fails(.insufficientQuota)),
        Row(
            name: "416", fault: answer("416 Range Not Satisfiable"), read: .done, lasting: .fails(.cannotSynchronize),
            listing: .fails(.cannotSynchronize), write: .fails(.cannotSynchronize)),
        Row(
            name: "423", fault: answer("423 Locked"), read: .done, lasting: .fails(.busy), listing: .fails(.busy),
            write: .fails(.busy)),
        Row(
            name: "429 with Retry-After", fault: answer("429 Too Many Requests", ["Retry-After: 1"]),
            read: .fails(.serverUnreachable), listing: .fails(.serverUnreachable), write: .fails(.serverUnreachable)),
        Row(
            name: "503 with Retry-After", fault: answer("503 Service Unavailable", ["Retry-After: 1"]),
            read: .fails(.serverUnreachable), listing: .fails(.serverUnreachable), write: .fails(.serverUnreachable)),
        Row(
            name: "500", fault: answer("500 Internal Server Error"), read: .done, lasting: .fails(.cannotSynchronize),
            listing: .fails(.cannotSynchronize), write: .fails(.cannotSynchronize)),
        Row(
            name: "502", fault: answer("502 Bad Gateway"), read: .fails(.serverUnreachable),
            listing: .fails(.serverUnreachable), write: .fails(.serverUnreachable)),
        Row(
            name: "507", fault: answer("507 Insufficient Storage"), read: .fails(.insufficientQuota),
            listing: .fails(.insufficientQuota), write: .fails(.insufficientQuota)),
        Row(
            name: "a redirection to another host", fault: answer("302 Found", ["Location: http://elsewhere.invalid/"]),
            read: .fails(.serverUnreachable), listing: .fails(.serverUnreachable), write: .fails(.serverUnreachable)),
        Row(
            name: "a login page", fault: answer("200 OK", ["Content-Type: text/html"], page),
            read: .fails(.serverUnreachable), listing: .fails(.serverUnreachable), write: .fails(.serverUnreachable)),
        Row(
            name: "a gzip'd body that is none", fault: answer("200 OK", ["Content-Encoding: gzip"], "plain"),
            read: .done, lasting: .fails(.cannotSynchronize), listing: .fails(.serverUnreachable),
            write: .fails(.cannotSynchronize)),
        Row(
            name: "an XML bomb",
            fault: answer(
                "207 Multi-Status", ["Content-Type: application/xml"], "<!DOCTYPE x [<!ENTITY a \"a\">]><x>&a;</x>"),
            read: .done, lasting: .fails(.cannotSynchronize), listing: .fails(.cannotSynchronize),
            write: .fails(.cannotSynchronize)),
        Row(
            name: "something outside of the folder is listed", fault: .rewrite("/dav/doc", "/etc/pwd"), read: .done,
            listing: .done, write: .done),
    ]

    private static let old = noise(200_000, seed: 1)
    private static let new = noise(150_000, seed: 2)

    private struct Try {
        let server: TestServer
        let proxy: FaultProxy
        let provider: WebDAVProvider
        let item: Item

        /// As a program's read does it; a server that is away has two seconds to come back.
        func read(_ range: Range<Int64>, into sink: some ContentSink) async -> (Outcome, String) {
            var retries = ReadRetryPolicy()
            retries.patience = 2
            let client = StoreClient(
                provider, events: EventLog(), workers: Workers(threads: 2),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, retries: retries)
            return await FaultTests.outcome { () async throws(FileProviderError) in
                try await client.provide(
                    item.identifier, version: item.version.content, range: range, into: sink, at: "doc"
                ) { _ in nil }
            }
        }
    }

    private static func withProxy(idleTimeout: Double = 30, _ body: (Try) async throws -> Void) async throws {
        try await withServer(.apache) { server in
            try Seeding(server.root).file("doc", old)
            chmod(server.root + "/doc", 0o666)
            // Not a weak tag.
            var times = [timeval(tv_sec: 1_000_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000_000, tv_usec: 0)]
            utimes(server.root + "/doc", &times)
            let proxy = try FaultProxy(to: server)
            defer { proxy.end() }
            let provider = try server.provider(at: "http://localhost:\(proxy.port)/dav/", idleTimeout: idleTimeout)
            let items = try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items
            let item = try #require(items.first)
            try await body(Try(server: server, proxy: proxy, provider: provider, item: item))
            await provider.invalidate()
        }
    }

    /// *WebDAV* in the documentation has them; it is written by this test when `HYDRANT_WRITE_DOCS` is set.
    @Test func theDocumentationShowsTheRows() throws {
        let path =
            URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .path
            + "/Sources/hydrant/Documentation.docc/WebDAV.md"
        let found = try String(contentsOfFile: path, encoding: .utf8)
        let begin = try #require(found.range(of: "<!-- faults -->\n"))
        let end = try #require(found.range(of: "<!-- end of the faults -->\n"))
        let lines = Self.rows.map {
            "| \($0.name) | \($0.read.reader) | \(($0.lasting ?? $0.read).reader) | \($0.listing.reader) | "
                + "\($0.write.writer) |\n"
        }
        let right =
            "| fault | read | read, if the fault lasts | listing | upload |\n"
            + "|---|---|---|---|---|\n"
            + lines.joined()
        if ProcessInfo.processInfo.environment["HYDRANT_WRITE_DOCS"] != nil {
            try (found[..<begin.upperBound] + right + found[end.lowerBound...]).write(
                toFile: path, atomically: true, encoding: .utf8)
        } else {
            #expect(
                found[begin.upperBound..<end.lowerBound] == right[...],
                "\(path) is out of date: run HYDRANT_WRITE_DOCS=1 swift test --filter theDocumentationShowsTheRows")
        }
    }

    fileprivate static func outcome(_ body: () async throws(FileProviderError) -> Void) async -> (Outcome, String) {
        do throws(FileProviderError) {
            try await body()
            return (.done, "")
        } catch { return (.fails(error.code), error.description) }
    }

    @Test("reading, with a temporary fault", arguments: rows) func reading(_ row: Row) async throws {
        try await Self.withProxy(idleTimeout: row.idleTimeout) { test in
            test.proxy.inject(row.fault, into: "GET", times: row.times)
            let sink = CheckingSink(Self.old)
            let (outcome, text) = await test.read(0..<200_000, into: sink)
            #expect(outcome == row.read, "\(text)")
            if outcome == .done { #expect(sink.collected.bytes == Self.old) }
            #expect(!sink.isWrong, "bytes of something else")
        }
    }

    @Test("reading, with a permanent fault", arguments: rows) func readingForLong(_ row: Row) async throws {
        try await Self.withProxy(idleTimeout: row.idleTimeout) { test in
            test.proxy.inject(row.fault, into: "GET", times: .max)
            let sink = CheckingSink(Array(Self.old[..<2_000]))
            let (outcome, text) = await test.read(0..<2_000, into: sink)
            #expect(outcome == row.lasting ?? row.read, "\(text)")
            #expect(!sink.isWrong, "bytes of something else")
        }
    }

    struct Lasting: Sendable, CustomTestStringConvertible {
        var name: String
        var fault: FaultProxy.Fault
        var code: FileProviderError.Code
        var requests: ClosedRange<Int>
        /// Seconds, at the least.
        var wait = 0.0
        var testDescription: String { name }
    }

    static let lasting = [
        // Each time a connection that may have been kept is replaced.
        Lasting(name: "reset", fault: .reset, code: .serverUnreachable, requests: 2...10, wait: 1),
        Lasting(
            name: "no byte of the document",
            fault: .reply(
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-199999/200000\r\nContent-Length: 200000\r\n\r\n"
            ),
            code: .cannotSynchronize, requests: 4...4, wait: 0.9),
        Lasting(
            name: "500", fault: answer("500 Internal Server Error"), code: .cannotSynchronize, requests: 4...4,
            wait: 0.9),
        Lasting(name: "423", fault: answer("423 Locked"), code: .busy, requests: 4...4, wait: 0.9),
        Lasting(name: "403", fault: answer("403 Forbidden"), code: .permissionDenied, requests: 1...1),
        Lasting(name: "502", fault: answer("502 Bad Gateway"), code: .serverUnreachable, requests: 1...1),
        Lasting(
            name: "503 with Retry-After", fault: answer("503 Service Unavailable", ["Retry-After: 60"]),
            code: .serverUnreachable, requests: 1...1),
        Lasting(
            name: "a login page", fault: answer("200 OK", ["Content-Type: text/html"], page),
            code: .serverUnreachable, requests: 1...1),
    ]

    @Test("the number and duration of requests for bytes, with a permanent fault", arguments: lasting)
    func attempts(_ row: Lasting) async throws {
        try await Self.withProxy { test in
            test.proxy.inject(row.fault, into: "GET", times: .max)
            let started = ContinuousClock.now
            let (outcome, text) = await test.read(0..<200_000, into: CheckingSink(Self.old))
            let seconds = started.duration(to: .now) / .seconds(1)
            #expect(outcome == .fails(row.code), "\(text)")
            let count = test.proxy.requests.count { $0.hasPrefix("GET") }
            #expect(row.requests.contains(count), "\(count) requests")
            #expect(seconds >= row.wait && seconds < 60, "\(seconds) s")
        }
    }

    @Test("a document is complete although its connection breaks again and again") func brokenLine() async throws {
        try await Self.withProxy { test in
            test.proxy.inject(.cut(30_000), into: "GET", times: 6)
            let sink = CheckingSink(Self.old)
            let (outcome, text) = await test.read(0..<200_000, into: sink)
            #expect(outcome == .done, "\(text)")
            #expect(sink.collected.bytes == Self.old && !sink.isWrong)
            #expect(test.proxy.requests.count { $0.hasPrefix("GET") } == 7)
        }
    }

    @Test("listing the folder", arguments: rows) func looking(_ row: Row) async throws {
        try await Self.withProxy(idleTimeout: row.idleTimeout) { test in
            test.proxy.inject(row.fault, into: "PROPFIND", times: row.times)
            let (outcome, text) = await Self.outcome { () async throws(FileProviderError) in
                let items = try await test.provider.enumerateItems(in: .rootContainer, startingAt: nil).items
                if case .rewrite = row.fault { return }
                if items != [test.item] { throw FileProviderError(.cancelled, "\(items)") }
            }
            #expect(outcome == row.listing, "\(text)")
            // It has passed.
            test.proxy.clear()
            if outcome == .fails(.notAuthenticated) { test.provider.credentialMayHaveChanged() }
            for _ in 0..<600 {
                let again = await Self.outcome { () async throws(FileProviderError) in
                    let items = try await test.provider.enumerateItems(in: .rootContainer, startingAt: nil).items
                    if items != [test.item] { throw FileProviderError(.cancelled, "\(items)") }
                }
                if again.0 == .done { return }
                try await Task.sleep(for: .milliseconds(100))
            }
            Issue.record("it does not pass")
        }
    }

    @Test("writing", arguments: rows) func writing(_ row: Row) async throws {
        try await Self.withProxy(idleTimeout: row.idleTimeout) { test in
            test.proxy.inject(row.fault, into: "PUT", times: row.times)
            let (outcome, text) = await Self.outcome { () async throws(FileProviderError) in
                let item = try await test.provider.itemChanged(
                    test.item.identifier, contents: BytesSource(Self.new),
                    metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 0)),
                    baseVersion: test.item.version)
                if item.size != 150_000 { throw FileProviderError(.cancelled, "\(item)") }
            }
            #expect(outcome == row.write, "\(text)")
            let there = [UInt8](FileManager.default.contents(atPath: test.server.root + "/doc") ?? Data())
            #expect(there == Self.old || there == Self.new)
            if outcome == .done { #expect(there == Self.new) }
            let names = try FileManager.default.contentsOfDirectory(atPath: test.server.root).filter { $0 != ".DAV" }
            #expect(names == ["doc"])
        }
    }

    @Test("programs do not notice a server that closes its connections, with or without a reply")
    func closedConnections() async throws {
        try await Self.withProxy { test in
            for method in ["LOCK", "PUT", "MOVE", "DELETE", "MKCOL"] {
                test.proxy.inject(.reset, into: method, times: 3)
            }
            let metadata = ItemMetadata(contentModificationDate: FileTime(seconds: 0))
            let changed = try await test.provider.itemChanged(
                test.item.identifier, contents: BytesSource(Self.new), metadata: metadata,
                baseVersion: test.item.version)
            let folder = try await test.provider.createItem(
                ItemTemplate(
                    parentIdentifier: .rootContainer, filename: Filename("folder"), kind: .folder,
                    contentModificationDate: FileTime(seconds: 0)), contents: nil)
            let moved = try await test.provider.moveItem(
                changed.identifier, to: folder.identifier, as: Filename("moved"), baseVersion: changed.version)
            #expect(FileManager.default.contents(atPath: test.server.root + "/folder/moved") == Data(Self.new))
            try await test.provider.deleteItem(moved.identifier, baseVersion: moved.version)
            #expect(!FileManager.default.fileExists(atPath: test.server.root + "/folder/moved"))
            for method in ["LOCK", "PUT", "MOVE", "DELETE", "MKCOL"] {
                #expect(test.proxy.requests.filter { $0.hasPrefix(method) }.count >= 4, "\(method)")
            }
        }
    }

    @Test("a small document whose reply is lost is sent again, and the refusal shows that the store has it")
    func lostAnswer() async throws {
        try await Self.withProxy { test in
            test.proxy.inject(.cut(0), into: "PUT")
            do throws(FileProviderError) {
                let item = try await test.provider.itemChanged(
                    test.item.identifier, contents: BytesSource(Self.new),
                    metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 0)),
                    baseVersion: test.item.version)
                Issue.record("the server took it twice: \(item)")
            } catch {
                #expect(error.code == .versionMismatch && error.item?.size == 150_000, "\(error)")
            }
            #expect(FileManager.default.contents(atPath: test.server.root + "/doc") == Data(Self.new))
            #expect(test.proxy.requests.filter { $0 == "PUT /dav/doc" }.count == 2)
        }
    }

    @Test("a lock that the server fails to release is released by another request, and blocks nobody")
    func unlocking() async throws {
        try await Self.withProxy { test in
            test.proxy.inject(Self.answer("500 Internal Server Error"), into: "UNLOCK", times: 2)
            let changed = try await test.provider.itemChanged(
                test.item.identifier, contents: BytesSource(Self.new),
                metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 0)),
                baseVersion: test.item.version)
            let other = try test.server.provider()
            let (outcome, text) = await Self.outcome { () async throws(FileProviderError) in
                _ = try await other.itemChanged(
                    changed.identifier, contents: BytesSource(Self.old),
                    metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 0)),
                    baseVersion: changed.version)
            }
            #expect(outcome == .done, "\(text)")
            #expect(test.proxy.requests.filter { $0.hasPrefix("UNLOCK") }.count == 3)
            await other.invalidate()
        }
    }
}

/// Faults that are no answers of a server's.
@Suite("WebDAV: certificates, redirections, clocks", .timeLimit(.minutes(10)))
struct TrustTests {
    private static func listingError(_ provider: WebDAVProvider) async -> FileProviderError? {
        do throws(FileProviderError) {
            _ = try await provider.enumerateItems(in: .rootContainer, startingAt: nil)
            return nil
        } catch { return error }
    }

    @Test("a certificate of an unknown authority") func unknownAuthority() async throws {
        try await withServer(.apache, .usual) { server in
            let root = try #require(HTTPLocation(server.url))
            let provider = try WebDAVProvider(
                root: root, credentials: FixedCredential(server.credential),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let error = await Self.listingError(provider)
            #expect(
                error?.code == .serverUnreachable && error?.message.contains("certificate") == true, "\(error as Any)")
            await provider.invalidate()
        }
    }

    @Test("a certificate of another host") func otherHost() async throws {
        try await withServer(.apache, .usual) { server in
            // 127.0.0.2 is not in it.
            let provider = try server.provider(at: "https://127.0.0.2:\(server.port)/dav/")
            let error = await Self.listingError(provider)
            #expect(error?.code == .serverUnreachable, "\(error as Any)")
            await provider.invalidate()
        }
    }

    @Test("a redirection from https to plain http does not get the password") func downgrade() async throws {
        var options = ServerOptions.usual
        options.directives = ["Redirect 302 http://localhost:9/dav/"]
        try await withServer(.apache, options) { server in
            let provider = try server.provider()
            let error = await Self.listingError(provider)
            #expect(error?.code == .serverUnreachable && error?.message.contains("http://") == true, "\(error as Any)")
            await provider.invalidate()
        }
    }

    @Test("a clock that is wrong by decades", arguments: [0, 1, 4_102_444_800]) func clock(_ seconds: Int) async throws
    {
        try await withServer(.apache) { server in
            try Seeding(server.root).file("doc", "old", modified: seconds)
            let provider = try server.provider()
            let items = try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items
            let item = try #require(items.first)
            #expect(item.contentModificationDate.seconds == Int64(seconds))
            let changed = try await provider.itemChanged(
                item.identifier, contents: BytesSource(Array("new".utf8)),
                metadata: ItemMetadata(contentModificationDate: FileTime(seconds: Int64(seconds))),
                baseVersion: item.version)
            #expect(changed.version != item.version)
            #expect(try Seeding(server.root).text("doc") == "new")
            try await provider.deleteItem(changed.identifier, baseVersion: changed.version)
            await provider.invalidate()
        }
    }
}

/// Knows what must come.
private final class CheckingSink: ContentSink {
    let collected: CollectingSink
    private let expected: [UInt8]
    private let wrong = Mutex(false)
    var isWrong: Bool { wrong.withLock { $0 } }

    init(_ expected: [UInt8]) {
        self.expected = expected
        collected = CollectingSink(range: 0..<Int64(expected.count))
    }

    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        let start = Int(offset)
        if start + bytes.count > expected.count || !expected[start..<start + bytes.count].elementsEqual(bytes) {
            wrong.withLock { $0 = true }
        }
        try await collected.write(bytes, at: offset)
    }
}

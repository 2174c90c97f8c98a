import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import HTTPTransport
import Logging
import MountHarness
import Testing
import WebDAVHarness

@testable import WebDAVProvider

/// Faults of networks and servers, one row each: the results of a read, a listing and an upload. The document on the server
/// is always the old or the new one, whole.
@Suite("WebDAV: faults", .timeLimit(.minutes(10)))
struct FaultTests {
    static let rows: [FaultRow] = [
        FaultRow("reset", read: .done, lasting: .fails(.serverUnreachable), listing: .done, write: .done),
        FaultRow("cut in the middle", read: .done, listing: .fails(.serverUnreachable), write: .done),
        FaultRow(
            "hang", read: .fails(.serverUnreachable), listing: .fails(.serverUnreachable),
            write: .fails(.serverUnreachable)),
        FaultRow("slow drip", read: .done, listing: .done, write: .done),
        FaultRow("Content-Length too large", read: .done, listing: .fails(.serverUnreachable), write: .done),
        FaultRow(
            "401", read: .fails(.notAuthenticated), listing: .fails(.notAuthenticated), write: .fails(.notAuthenticated)
        ),
        FaultRow(
            "403", read: .fails(.permissionDenied), listing: .fails(.permissionDenied), write: .fails(.permissionDenied)
        ),
        FaultRow("404", read: .fails(.noSuchItem), listing: .fails(.noSuchItem), write: .fails(.cannotSynchronize)),
        FaultRow("405", read: .fails(.unsupported), listing: .fails(.cannotSynchronize), write: .fails(.unsupported)),
        FaultRow(
            "409", read: .done, lasting: .fails(.cannotSynchronize), listing: .fails(.cannotSynchronize),
            write: .fails(.cannotSynchronize)),
        FaultRow(
            "412 once", read: .done, lasting: .fails(.cannotSynchronize), listing: .fails(.cannotSynchronize),
            write: .done),
        FaultRow(
            "413", read: .fails(.insufficientQuota), listing: .fails(.insufficientQuota),
            write: .fails(.insufficientQuota)),
        FaultRow(
            "416", read: .done, lasting: .fails(.cannotSynchronize), listing: .fails(.cannotSynchronize),
            write: .fails(.cannotSynchronize)),
        FaultRow("423", read: .done, lasting: .fails(.busy), listing: .fails(.busy), write: .fails(.busy)),
        FaultRow(
            "429 with Retry-After", read: .fails(.serverUnreachable), listing: .fails(.serverUnreachable),
            write: .fails(.serverUnreachable)),
        FaultRow(
            "503 with Retry-After", read: .fails(.serverUnreachable), listing: .fails(.serverUnreachable),
            write: .fails(.serverUnreachable)),
        FaultRow(
            "500", read: .done, lasting: .fails(.cannotSynchronize), listing: .fails(.cannotSynchronize),
            write: .fails(.cannotSynchronize)),
        FaultRow(
            "502", read: .fails(.serverUnreachable), listing: .fails(.serverUnreachable),
            write: .fails(.serverUnreachable)),
        FaultRow(
            "507", read: .fails(.insufficientQuota), listing: .fails(.insufficientQuota),
            write: .fails(.insufficientQuota)),
        FaultRow(
            "a redirection to another host", read: .fails(.serverUnreachable), listing: .fails(.serverUnreachable),
            write: .fails(.serverUnreachable)),
        FaultRow(
            "a login page", read: .fails(.serverUnreachable), listing: .fails(.serverUnreachable),
            write: .fails(.serverUnreachable)),
        FaultRow(
            "a gzip'd body that is none", read: .done, lasting: .fails(.cannotSynchronize),
            listing: .fails(.serverUnreachable), write: .fails(.cannotSynchronize)),
        FaultRow(
            name: "an XML bomb",
            fault: FaultRow.answer(
                "207 Multi-Status", ["Content-Type: application/xml"], "<!DOCTYPE x [<!ENTITY a \"a\">]><x>&a;</x>"),
            read: .done, lasting: .fails(.cannotSynchronize), listing: .fails(.cannotSynchronize),
            write: .fails(.cannotSynchronize)),
        FaultRow(
            name: "something outside of the folder is listed", fault: .rewrite("/dav/doc", "/etc/pwd"), read: .done,
            listing: .done, write: .done),
    ]

    private static let old = FaultTrial.old
    private static let new = FaultTrial.new

    private struct Try {
        let server: TestServer
        let proxy: FaultProxy
        let provider: WebDAVProvider
        let item: Item

        var trial: FaultTrial { FaultTrial(proxy: proxy, provider: provider, item: item) }
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
        let problem = try FaultRow.check(Self.rows, page: path, test: "theDocumentationShowsTheRows")
        #expect(problem == nil)
    }

    @Test("reading, with a temporary fault", arguments: rows) func reading(_ row: FaultRow) async throws {
        try await Self.withProxy(idleTimeout: row.idleTimeout) { test in
            test.proxy.inject(row.fault, into: "GET", times: row.times)
            let sink = CheckingSink(Self.old)
            let (outcome, text) = await test.trial.read(0..<200_000, into: sink, expecting: row.read)
            #expect(outcome == row.read, "\(text)")
            if outcome == .done { #expect(sink.collected.bytes == Self.old) }
            #expect(!sink.isWrong, "bytes of something else")
        }
    }

    @Test("reading, with a permanent fault", arguments: rows) func readingForLong(_ row: FaultRow) async throws {
        try await Self.withProxy(idleTimeout: row.idleTimeout) { test in
            test.proxy.inject(row.fault, into: "GET", times: .max)
            let sink = CheckingSink(Array(Self.old[..<2_000]))
            let (outcome, text) = await test.trial.read(0..<2_000, into: sink, expecting: row.lasting ?? row.read)
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
            name: "500", fault: FaultRow.answer("500 Internal Server Error"), code: .cannotSynchronize, requests: 4...4,
            wait: 0.9),
        Lasting(name: "423", fault: FaultRow.answer("423 Locked"), code: .busy, requests: 4...4, wait: 0.9),
        Lasting(name: "403", fault: FaultRow.answer("403 Forbidden"), code: .permissionDenied, requests: 1...1),
        Lasting(name: "502", fault: FaultRow.answer("502 Bad Gateway"), code: .serverUnreachable, requests: 1...1),
        Lasting(
            name: "503 with Retry-After", fault: FaultRow.answer("503 Service Unavailable", ["Retry-After: 60"]),
            code: .serverUnreachable, requests: 1...1),
        Lasting(
            name: "a login page", fault: FaultRow.answer("200 OK", ["Content-Type: text/html"], FaultRow.page),
            code: .serverUnreachable, requests: 1...1),
    ]

    @Test("the number and duration of requests for bytes, with a permanent fault", arguments: lasting)
    func attempts(_ row: Lasting) async throws {
        try await Self.withProxy { test in
            test.proxy.inject(row.fault, into: "GET", times: .max)
            let started = ContinuousClock.now
            let (outcome, text) = await test.trial.read(
                0..<200_000, into: CheckingSink(Self.old), expecting: .fails(row.code))
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
            let (outcome, text) = await test.trial.read(0..<200_000, into: sink, expecting: .done)
            #expect(outcome == .done, "\(text)")
            #expect(sink.collected.bytes == Self.old && !sink.isWrong)
            #expect(test.proxy.requests.count { $0.hasPrefix("GET") } == 7)
        }
    }

    @Test("listing the folder", arguments: rows) func looking(_ row: FaultRow) async throws {
        try await Self.withProxy(idleTimeout: row.idleTimeout) { test in
            test.proxy.inject(row.fault, into: "PROPFIND", times: row.times)
            var isExact = true
            if case .rewrite = row.fault { isExact = false }
            let (outcome, text) = await test.trial.list(isExact: isExact)
            #expect(outcome == row.listing, "\(text)")
            // It has passed.
            test.proxy.clear()
            if outcome == .fails(.notAuthenticated) { test.provider.credentialMayHaveChanged() }
            for _ in 0..<600 {
                let again = await test.trial.list()
                if again.0 == .done { return }
                try await Task.sleep(for: .milliseconds(100))
            }
            Issue.record("it does not pass")
        }
    }

    @Test("writing", arguments: rows) func writing(_ row: FaultRow) async throws {
        try await Self.withProxy(idleTimeout: row.idleTimeout) { test in
            test.proxy.inject(row.fault, into: "PUT", times: row.times)
            let (outcome, text) = await test.trial.write()
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
            test.proxy.inject(FaultRow.answer("500 Internal Server Error"), into: "UNLOCK", times: 2)
            let changed = try await test.provider.itemChanged(
                test.item.identifier, contents: BytesSource(Self.new),
                metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 0)),
                baseVersion: test.item.version)
            let other = try test.server.provider()
            let (outcome, text) = await FaultOutcome.of { () async throws(FileProviderError) in
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

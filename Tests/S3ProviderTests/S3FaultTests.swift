import FileProvider
import FileProviderTesting
import Foundation
import HTTPTransport
import MountHarness
import S3Harness
import Testing
import WebDAVHarness

@testable import S3Provider

/// Faults of networks and servers, one row each: the results of a read, a listing and an upload. The object is always the
/// old or the new one, whole.
@Suite("S3: faults", .timeLimit(.minutes(10)))
struct S3FaultTests {
    private static func error(_ status: String, _ code: String) -> FaultProxy.Fault {
        FaultRow.answer(
            status, ["Content-Type: application/xml"],
            "<?xml version=\"1.0\"?><Error><Code>\(code)</Code><Message>said the server</Message></Error>")
    }

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
        FaultRow(
            "404", read: .fails(.cannotSynchronize), listing: .fails(.noSuchItem), write: .fails(.cannotSynchronize)),
        FaultRow("405", read: .fails(.unsupported), listing: .fails(.unsupported), write: .fails(.unsupported)),
        FaultRow(
            "409", read: .done, lasting: .fails(.cannotSynchronize), listing: .fails(.cannotSynchronize),
            write: .fails(.cannotSynchronize)),
        FaultRow(
            "412 once", read: .done, lasting: .fails(.cannotSynchronize), listing: .fails(.cannotSynchronize),
            write: .fails(.cannotSynchronize)),
        FaultRow(
            "413", read: .fails(.insufficientQuota), listing: .fails(.insufficientQuota),
            write: .fails(.insufficientQuota)),
        FaultRow(
            "416", read: .done, lasting: .fails(.cannotSynchronize), listing: .fails(.cannotSynchronize),
            write: .fails(.cannotSynchronize)),
        FaultRow(
            "423", read: .done, lasting: .fails(.cannotSynchronize), listing: .fails(.cannotSynchronize),
            write: .fails(.cannotSynchronize)),
        FaultRow(
            "429 with Retry-After", read: .fails(.serverUnreachable), listing: .fails(.serverUnreachable),
            write: .fails(.serverUnreachable)),
        FaultRow(
            "503 with Retry-After", read: .fails(.serverUnreachable), listing: .fails(.serverUnreachable),
            write: .fails(.serverUnreachable)),
        FaultRow("500", read: .done, lasting: .fails(.cannotSynchronize), listing: .done, write: .done),
        FaultRow("502", read: .done, lasting: .fails(.serverUnreachable), listing: .done, write: .done),
        FaultRow(
            "507", read: .done, lasting: .fails(.cannotSynchronize), listing: .fails(.cannotSynchronize),
            write: .fails(.cannotSynchronize)),
        FaultRow(
            "a redirection to another host", read: .done, lasting: .fails(.cannotSynchronize),
            listing: .fails(.cannotSynchronize),
            write: .fails(.cannotSynchronize)),
        FaultRow(
            "a login page", read: .done, lasting: .fails(.cannotSynchronize), listing: .fails(.cannotSynchronize),
            write: .fails(.cannotSynchronize)),
        FaultRow(
            "a gzip'd body that is none", read: .done, lasting: .fails(.cannotSynchronize),
            listing: .fails(.cannotSynchronize), write: .fails(.cannotSynchronize)),
        FaultRow(
            name: "an XML bomb",
            fault: FaultRow.answer(
                "200 OK", ["Content-Type: application/xml"],
                "<!DOCTYPE x [<!ENTITY a \"a\">]><ListBucketResult>&a;</ListBucketResult>"),
            read: .done, lasting: .fails(.cannotSynchronize), listing: .fails(.cannotSynchronize),
            write: .fails(.cannotSynchronize)),
        FaultRow(
            name: "something outside of the folder is listed", fault: .rewrite("<Key>doc", "<Key>../"), read: .done,
            listing: .done, write: .done),
        FaultRow(
            name: "SlowDown", fault: error("503 Slow Down", "SlowDown"), read: .done,
            lasting: .fails(.serverUnreachable), listing: .done, write: .done),
        FaultRow(
            name: "RequestTimeout", fault: error("400 Bad Request", "RequestTimeout"), read: .done,
            lasting: .fails(.serverUnreachable), listing: .done,
            write: .done),
        FaultRow(
            name: "ConditionalRequestConflict", fault: error("409 Conflict", "ConditionalRequestConflict"),
            read: .done, lasting: .fails(.serverUnreachable), listing: .done, write: .done),
        FaultRow(
            name: "ExpiredToken", fault: error("400 Bad Request", "ExpiredToken"), read: .fails(.notAuthenticated),
            listing: .fails(.notAuthenticated), write: .fails(.notAuthenticated)),
        FaultRow(
            name: "RequestTimeTooSkewed", fault: error("403 Forbidden", "RequestTimeTooSkewed"),
            read: .fails(.serverUnreachable), listing: .fails(.serverUnreachable), write: .fails(.serverUnreachable)),
        FaultRow(
            name: "NoSuchBucket", fault: error("404 Not Found", "NoSuchBucket"), read: .fails(.serverUnreachable),
            listing: .fails(.serverUnreachable), write: .fails(.serverUnreachable)),
    ]

    /// *S3* in the documentation has them.
    @Test func theDocumentationShowsTheRows() throws {
        let path =
            URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .path + "/Sources/hydrant/Documentation.docc/S3.md"
        #expect(try FaultRow.check(Self.rows, page: path, test: "S3FaultTests") == nil)
    }

    private struct Try {
        let trial: FaultTrial
        let provider: S3Provider
        let direct: S3Provider
        var proxy: FaultProxy { trial.proxy }

        /// What the server has.
        func stored() async throws -> [UInt8] {
            let item = try await direct.providePlaceholder(for: ItemIdentifier("doc"))
            let sink = CollectingSink(range: 0..<item.size)
            try await direct.startProvidingItem(
                item.identifier, version: item.version.content, range: 0..<item.size, into: sink)
            return try #require(sink.bytes)
        }
    }

    private static func withProxy(_ row: FaultRow, _ body: (Try) async throws -> Void) async throws {
        try await withS3(.usual) { bucket in
            let direct = try bucket.provider()
            let item = try await direct.createItem(
                ItemTemplate(
                    parentIdentifier: .rootContainer, filename: "doc", kind: .document,
                    contentModificationDate: FileTime(seconds: 1_000_000_000)), contents: BytesSource(FaultTrial.old))
            let proxy = try FaultProxy(port: bucket.port)
            defer { proxy.end() }
            let provider = try bucket.provider {
                $0.endpoint = "http://127.0.0.1:\(proxy.port)"
                $0.http.idleTimeout = row.idleTimeout
            }
            _ = try await provider.conditions.traits()
            try await body(
                Try(
                    trial: FaultTrial(proxy: proxy, provider: provider, item: item), provider: provider, direct: direct)
            )
            await provider.invalidate()
            await direct.invalidate()
        }
    }

    @Test("reading, with a temporary fault", arguments: rows) func reading(_ row: FaultRow) async throws {
        try await Self.withProxy(row) { test in
            test.proxy.inject(row.fault, into: "GET", path: "/doc", times: row.times)
            let sink = CheckingSink(FaultTrial.old)
            let (outcome, text) = await test.trial.read(0..<200_000, into: sink, expecting: row.read)
            #expect(outcome == row.read, "\(text)")
            if outcome == .done { #expect(sink.collected.bytes == FaultTrial.old) }
            #expect(!sink.isWrong, "bytes of something else")
        }
    }

    @Test(
        "reading, with a permanent fault", .enabled(if: LongTests.areOn, "scripts/test stores"), arguments: rows)
    func readingForLong(_ row: FaultRow) async throws {
        try await Self.withProxy(row) { test in
            test.proxy.inject(row.fault, into: "GET", path: "/doc", times: .max)
            let sink = CheckingSink(Array(FaultTrial.old[..<2_000]))
            let (outcome, text) = await test.trial.read(0..<2_000, into: sink, expecting: row.lasting ?? row.read)
            #expect(outcome == row.lasting ?? row.read, "\(text)")
            #expect(!sink.isWrong, "bytes of something else")
        }
    }

    @Test("listing the folder", .enabled(if: LongTests.areOn, "scripts/test stores"), arguments: rows)
    func looking(_ row: FaultRow) async throws {
        try await Self.withProxy(row) { test in
            test.proxy.inject(row.fault, into: "GET", path: "list-type=2", times: row.times)
            var isExact = true
            if case .rewrite = row.fault { isExact = false }
            let (outcome, text) = await test.trial.list(isExact: isExact)
            #expect(outcome == row.listing, "\(text)")
            // It has passed.
            test.proxy.clear()
            test.provider.credentialMayHaveChanged()
            try await waitUntilAsync { await test.trial.list().0 == .done }
        }
    }

    private func waitUntilAsync(_ condition: () async -> Bool) async throws {
        for _ in 0..<600 {
            if await condition() { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        Issue.record("it does not pass")
    }

    @Test("writing", arguments: rows) func writing(_ row: FaultRow) async throws {
        try await Self.withProxy(row) { test in
            test.proxy.inject(row.fault, into: "PUT", path: "/doc", times: row.times)
            let (outcome, text) = await test.trial.write()
            #expect(outcome == row.write, "\(text)")
            let there = try await test.stored()
            #expect(there == FaultTrial.old || there == FaultTrial.new)
            if outcome == .done { #expect(there == FaultTrial.new) }
            let names = try await test.direct.client.list("", isFlat: true).objects.map(\.key)
            #expect(names == ["doc"])
        }
    }
}

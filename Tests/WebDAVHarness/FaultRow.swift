package import FileProvider
package import FileProviderTesting
import Foundation
import Glibc
import Logging
import MountHarness
import SyncEngine
import Synchronization

/// The outcome of an operation of a provider under a fault.
package enum FaultOutcome: Equatable, CustomStringConvertible, Sendable {
    case done
    case fails(FileProviderError.Code)

    package var description: String {
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

    package static func of(_ body: () async throws(FileProviderError) -> Void) async -> (FaultOutcome, String) {
        do throws(FileProviderError) {
            try await body()
            return (.done, "")
        } catch { return (.fails(error.code), error.description) }
    }
}

/// A fault of networks and servers, with the results of a read, a listing and an upload.
package struct FaultRow: Sendable, CustomStringConvertible {
    package var name: String
    package var description: String { name }
    package var fault: FaultProxy.Fault
    package var times: Int
    /// Of a download, a look into the folder, and a change of the document.
    package var read: FaultOutcome
    /// Of a download, where it comes each time; nil: the same.
    package var lasting: FaultOutcome?
    package var listing: FaultOutcome
    package var write: FaultOutcome
    /// Seconds. Short where it has to pass; a busy machine lets others wait as well.
    package var idleTimeout: Double { if case .hang = fault { 4 } else { 30 } }

    package init(
        name: String, fault: FaultProxy.Fault, times: Int = 1, read: FaultOutcome, lasting: FaultOutcome? = nil,
        listing: FaultOutcome, write: FaultOutcome
    ) {
        self.name = name
        self.fault = fault
        self.times = times
        self.read = read
        self.lasting = lasting
        self.listing = listing
        self.write = write
    }

    /// - Parameter name: one of ``usual``.
    package init(
        _ name: String, read: FaultOutcome, lasting: FaultOutcome? = nil, listing: FaultOutcome, write: FaultOutcome
    ) {
        guard let (_, fault, times) = Self.usual.first(where: { $0.name == name }) else {
            fatalError("there is no fault “\(name)”")
        }
        self.init(
            name: name, fault: fault, times: times, read: read, lasting: lasting, listing: listing, write: write)
    }

    package static func answer(_ status: String, _ head: [String] = [], _ body: String = "") -> FaultProxy.Fault {
        let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)", "Connection: close"] + head
        return .reply(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
    }

    package static let page = "<!DOCTYPE html><html><body>Welcome to our hotel</body></html>"

    /// Those that every protocol over HTTP meets.
    private static let usual: [(name: String, fault: FaultProxy.Fault, times: Int)] = [
        ("reset", .reset, 1),
        ("cut in the middle", .cut(600), 1),
        ("hang", .hang(12), 1),
        ("slow drip", .drip(400_000), 1),
        ("Content-Length too large", .rewrite("Content-Length: ", "Content-Length: 9"), 1),
        ("401", answer("401 Unauthorized"), 9),
        ("403", answer("403 Forbidden"), 1),
        ("404", answer("404 Not Found"), 9),
        ("405", answer("405 Method Not Allowed"), 1),
        ("409", answer("409 Conflict"), 1),
        ("412 once", answer("412 Precondition Failed"), 1),
        ("413", answer("413 Content Too Large"), 1),
        ("416", answer("416 Range Not Satisfiable"), 1),
        ("423", answer("423 Locked"), 1),
        ("429 with Retry-After", answer("429 Too Many Requests", ["Retry-After: 1"]), 1),
        ("503 with Retry-After", answer("503 Service Unavailable", ["Retry-After: 1"]), 1),
        ("500", answer("500 Internal Server Error"), 1),
        ("502", answer("502 Bad Gateway"), 1),
        ("507", answer("507 Insufficient Storage"), 1),
        ("a redirection to another host", answer("302 Found", ["Location: http://elsewhere.invalid/"]), 1),
        ("a login page", answer("200 OK", ["Content-Type: text/html"], page), 1),
        ("a gzip'd body that is none", answer("200 OK", ["Content-Encoding: gzip"], "plain"), 1),
    ]

    /// A table in the documentation, between marks: `<!-- faults -->` and `<!-- end of the faults -->`.
    ///
    /// - Returns: nil when the page has these rows; else what to do. With `HYDRANT_WRITE_DOCS` it writes them.
    package static func check(_ rows: [FaultRow], page: String, test: String) throws -> String? {
        let found = try String(contentsOfFile: page, encoding: .utf8)
        guard let begin = found.range(of: "<!-- faults -->\n"),
            let end = found.range(of: "<!-- end of the faults -->\n")
        else { return "\(page) has no place for the faults" }
        let lines = rows.map {
            "| \($0.name) | \($0.read.reader) | \(($0.lasting ?? $0.read).reader) | \($0.listing.reader) | "
                + "\($0.write.writer) |\n"
        }
        let right =
            "| fault | read | read, if the fault lasts | listing | upload |\n" + "|---|---|---|---|---|\n"
            + lines.joined()
        if ProcessInfo.processInfo.environment["HYDRANT_WRITE_DOCS"] != nil {
            try (found[..<begin.upperBound] + right + found[end.lowerBound...]).write(
                toFile: page, atomically: true, encoding: .utf8)
            return nil
        }
        if found[begin.upperBound..<end.lowerBound] == right[...] { return nil }
        return "\(page) is out of date: run HYDRANT_WRITE_DOCS=1 swift test --filter \(test)"
    }
}

/// A document of a store, read through a proxy that disturbs.
package struct FaultTrial: Sendable {
    package static let old = noise(200_000, seed: 1)
    package static let new = noise(150_000, seed: 2)

    package let proxy: FaultProxy
    package let provider: any FileProviderExtension
    package let item: Item

    package init(proxy: FaultProxy, provider: any FileProviderExtension, item: Item) {
        self.proxy = proxy
        self.provider = provider
        self.item = item
    }

    /// As a program's read does it. A server that is away has two seconds to come back, or, where the read must succeed
    /// in the end, as long as a busy machine takes.
    package func read(
        _ range: Range<Int64>, into sink: some ContentSink, expecting outcome: FaultOutcome
    ) async -> (FaultOutcome, String) {
        var retries = ReadRetryPolicy()
        retries.patience = outcome == .done ? 120 : 2
        let client = StoreClient(
            provider, events: EventLog(), workers: Workers(threads: 2),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, retries: retries)
        return await FaultOutcome.of { () async throws(FileProviderError) in
            try await client.provide(
                item.identifier, version: item.version.content, range: range, into: sink, at: "doc",
                forget: {}
            ) { _ in nil }
        }
    }

    /// The folder has the document, and nothing else.
    package func list(isExact: Bool = true) async -> (FaultOutcome, String) {
        await FaultOutcome.of { () async throws(FileProviderError) in
            let items = try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items
            if isExact, items != [item] { throw FileProviderError(.cancelled, "\(items)") }
        }
    }

    /// Changes the document to ``new``.
    package func write() async -> (FaultOutcome, String) {
        await FaultOutcome.of { () async throws(FileProviderError) in
            let changed = try await provider.itemChanged(
                item.identifier, contents: BytesSource(Self.new),
                metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 0)), baseVersion: item.version)
            if changed.size != Int64(Self.new.count) { throw FileProviderError(.cancelled, "\(changed)") }
        }
    }
}

/// Knows what must come.
package final class CheckingSink: ContentSink {
    package let collected: CollectingSink
    private let expected: [UInt8]
    private let wrong = Mutex(false)
    package var isWrong: Bool { wrong.withLock { $0 } }

    package init(_ expected: [UInt8]) {
        self.expected = expected
        collected = CollectingSink(range: 0..<Int64(expected.count))
    }

    package func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        let start = Int(offset)
        if start + bytes.count > expected.count || !expected[start..<start + bytes.count].elementsEqual(bytes) {
            wrong.withLock { $0 = true }
        }
        try await collected.write(bytes, at: offset)
    }
}

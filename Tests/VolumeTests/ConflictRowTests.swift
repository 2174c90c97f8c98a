import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import MountHarness
import SyncEngine
import Testing
import Trees
import Volume

/// The table of conflicts (*Conflicts* in the documentation), row by row, in both orders.
@Suite("The table of conflicts")
struct ConflictRowTests {
    /// When the other side's change is known here.
    enum Order: String, CaseIterable, Sendable, CustomTestStringConvertible {
        /// A listing brings it while the local change waits.
        case seen = "seen before the upload"
        /// The store says so when the local change comes.
        case unseen = "unseen until the upload"
        var testDescription: String { rawValue }
    }

    @Test(arguments: ConflictRow.groups.flatMap(\.rows), Order.allCases)
    func row(_ row: ConflictRow, _ order: Order) async throws {
        let provider = QuietProvider()
        var times = SyncTimes.quick
        times.settle = 3_600
        times.settleAfterSync = 3_600
        // Nothing is seen that is not listed.
        times.poll = 3_600
        try await withStore(provider, times: times) { store in
            let remote = provider.base
            for act in row.before {
                if case .read = act { continue }
                try act.run(at: remote)
            }
            _ = try store.files.tree(reading: false)
            for act in row.before { if case .read = act { try act.run(at: store.files) } }
            try waitUntil(5, "the catalog knows what is here") {
                try row.before.allSatisfy { act in
                    guard case .read(let path) = act else { return true }
                    let names = path.split(separator: "/").map { Filename(String($0)) }
                    return try store.catalog.read { try $0.resolve(names) }.extents == nil
                }
            }
            for act in row.local { try act.run(at: store.files) }
            for act in row.remote { try act.run(at: remote) }
            if order == .seen { Self.listEverything(store) }
            try Self.settle(store) { try store.files.tree() == row.mount && remote.tree() == row.store ?? row.mount }
            #expect(try store.files.tree() == row.mount, "the mount")
            #expect(remote.tree() == row.store ?? row.mount, "the store")
            #expect(try store.catalog.read { try $0.conflicts() }.map(\.reason.rawValue) == row.conflicts)
            #expect(try store.catalog.read { try $0.allPending(limit: 10) } == [])
        }
    }

    /// Syncs and lists until nothing is pending and both sides are as they should be, or it is plain that they will not.
    private static func settle(_ store: InProcessStore, _ isRight: () throws -> Bool) throws {
        for _ in 0..<30 {
            let left = try store.sync(limit: 2)
            listEverything(store)
            if try left.isEmpty && isRight() { return }
        }
    }

    /// As a signal for each folder that was looked at.
    private static func listEverything(_ store: InProcessStore) {
        let folders = (try? store.catalog.read { try $0.enumeratedFolders() }) ?? []
        for folder in folders {
            // (One may be gone.)
            try? blocking { [engine = store.volume.engine] in try await engine.enumerate(folder) }
        }
    }

    /// The page is written by this test when `HYDRANT_WRITE_DOCS` is set.
    @Test func theDocumentationShowsTheTable() throws {
        let url = URL(filePath: #filePath, directoryHint: .notDirectory).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/hydrant/Documentation.docc/Conflicts.md", directoryHint: .notDirectory)
        let found = String(decoding: try Data(contentsOf: url), as: UTF8.self)
        let begin = try #require(found.range(of: "<!-- table -->\n"))
        let end = try #require(found.range(of: "<!-- end of the table -->\n"))
        let right = Self.tables
        if ProcessInfo.processInfo.environment["HYDRANT_WRITE_DOCS"] != nil {
            try Data((found[..<begin.upperBound] + right + found[end.lowerBound...]).utf8).write(to: url)
        } else {
            #expect(
                found[begin.upperBound..<end.lowerBound] == right[...],
                "\(url.path) is out of date: run HYDRANT_WRITE_DOCS=1 swift test --filter ConflictRowTests")
        }
    }

    private static var tables: String {
        ConflictRow.groups.map { group in
            """

            ## \(group.title)

            | here | in the store | the mount shows | the store holds | `hydrant conflicts` |
            |---|---|---|---|---|
            \(group.rows.map(\.line).joined(separator: "\n"))

            """
        }.joined() + "\n"
    }
}

/// A store that never says by itself that it has changed.
private struct QuietProvider: ForwardingProvider, MetadataUpdating {
    let base = InMemoryProvider()

    func updateMetadata(
        _ identifier: ItemIdentifier, to metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await base.updateMetadata(identifier, to: metadata, baseVersion: baseVersion)
    }
}

extension ConflictRow.Act {
    /// Does it as the store's other client.
    fileprivate func run(at remote: InMemoryProvider) throws {
        switch self {
        case .write(let path, let text): try remote.put(path, text)
        case .mkdir(let path): try remote.mkdir(path)
        case .remove(let path): try remote.remove(path)
        case .rename(let old, let new): try remote.rename(old, to: new)
        case .swap(let one, let other):
            try remote.rename(one, to: "swapping")
            try remote.rename(other, to: one)
            try remote.rename("swapping", to: other)
        case .symlink(let path, let target): try remote.link(path, to: target)
        case .attribute(let path, let value):
            try remote.setExtendedAttributes(["user.note": Array(value.utf8)], at: path)
        case .hardLink, .chmod, .read: throw HarnessError("no client of a store does this")
        }
    }
}

extension InMemoryProvider {
    /// Everything, as the table has it.
    fileprivate func tree() -> [String: String] {
        Dictionary(
            snapshot().map { path, entry in
                let what =
                    switch entry {
                    case .folder: "folder"
                    case .document(let bytes): String(decoding: bytes, as: UTF8.self)
                    case .link(let target): "→ " + String(decoding: target, as: UTF8.self)
                    }
                return (ConflictRow.plain(path), what)
            }, uniquingKeysWith: { "\($0) and \($1)" })
    }
}

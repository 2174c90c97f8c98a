import FileProvider
import Foundation
import ItemCatalog
import ItemSearch
import QueryLanguage
import Synchronization
import Testing
import Trees

/// What becomes of results while the catalog changes.
@Suite struct LiveSearchTests {
    private let test = try! SearchedCatalog()

    private final class Rows: Sendable {
        let rows = Mutex(ChangedRows())
    }

    /// A search that goes on, and the list that somebody keeps of its results.
    private final class Live {
        private let catalog: Catalog
        private var search: ItemSearch
        private let rows = Rows()
        private let key: Int
        private(set) var paths: [Int64: String] = [:]

        init(
            _ text: String, _ test: SearchedCatalog, in scopes: [String]? = nil, isShallow: Bool = false
        ) async throws {
            catalog = test.catalog
            let scopes = try scopes.map { Set(try $0.map { try test.inode($0) }) }
            search = ItemSearch(
                try QueryPredicate(text: text), catalog: catalog, names: test.names, scopes: scopes,
                isShallow: isShallow,
                isLive: true)
            key = try catalog.watchRows { [rows] new in rows.rows.withLock { $0.add(new) } }
            var found: [FoundItem] = []
            try await search.gather { items in
                found += items
                return true
            }
            for item in found { paths[item.row.number] = String(decoding: item.facts.path, as: UTF8.self) }
        }

        deinit { catalog.unwatchRows(key) }

        var examined: Int { search.examined }

        @discardableResult
        func update() async throws -> ItemSearch.Changes {
            let changed = rows.rows.withLock { rows in
                defer { rows = ChangedRows() }
                return rows
            }
            let changes = try await search.update(changed)
            for number in changes.removed { #expect(paths.removeValue(forKey: number) != nil) }
            for item in changes.added {
                #expect(paths[item.row.number] == nil)
                paths[item.row.number] = String(decoding: item.facts.path, as: UTF8.self)
            }
            for item in changes.changed {
                #expect(paths[item.row.number] != nil)
                paths[item.row.number] = String(decoding: item.facts.path, as: UTF8.self)
            }
            return changes
        }
    }

    @Test func whatIsMadeChangedAndDeletedIsTold() async throws {
        try test.list([document("report"), document("other")])
        let live = try await Live("report", test)
        #expect(try await live.update().isEmpty)
        let made = try test.create("report 2")
        var changes = try await live.update()
        #expect(changes.added.map(\.row.name) == ["report 2"] && changes.changed.isEmpty && changes.removed.isEmpty)
        let number = try #require(changes.added.first?.row.number)
        try test.edit(made, size: 77)
        changes = try await live.update()
        #expect(changes.changed.map(\.row.size) == [77] && changes.added.isEmpty && changes.removed.isEmpty)
        try test.rename("report 2", "report of 2")
        changes = try await live.update()
        #expect(changes.changed.map(\.row.number) == [number])
        try test.rename("report of 2", "letter")
        #expect(try await live.update().removed == [number])
        try test.rename("other", "reported")
        try test.unlink("report")
        changes = try await live.update()
        #expect(changes.added.map(\.row.name) == ["reported"] && changes.removed.count == 1)
        try test.create("not one")
        #expect(try await live.update().isEmpty)
    }

    @Test func whatLiesInAFolderThatMovesIsElsewhere() async throws {
        try test.list([document("a", kind: .folder), document("b", kind: .folder)])
        try test.create("report", in: test.inode("a"))
        let everywhere = try await Live("report", test)
        let scoped = try await Live("report", test, in: ["b"])
        let byPath = try await Live("path:b/", test)
        #expect(scoped.paths.isEmpty && byPath.paths.isEmpty)
        try test.rename("a", "a", to: test.inode("b"))
        #expect(
            try await everywhere.update().changed.map { String(decoding: $0.facts.path, as: UTF8.self) } == [
                "b/a/report"
            ])
        #expect(try await scoped.update().added.count == 1)
        #expect(try await byPath.update().added.map(\.row.name).sorted { $0.string < $1.string } == ["a", "report"])
        try test.rename("b", "c")
        #expect(try await everywhere.update().changed.count == 1)
        #expect(try await byPath.update().removed.count == 2)
    }

    /// A file manager asks for the items of the folder that it shows.
    @Test func aShallowSearchStaysInItsFolder() async throws {
        try test.list([document("shown", kind: .folder), document("beside", kind: .folder)])
        let shown = try test.inode("shown")
        try test.create("one", in: shown)
        let inner = try test.create("inner", in: shown, kind: .folder)
        for number in 0..<200 {
            try test.create(Filename("deep \(number)"), in: inner)
            try test.create(Filename("aside \(number)"), in: test.inode("beside"))
        }
        // (A condition by which a deep search would use the catalog's own list.)
        let pending = try await Live("state:uploading", test, in: ["shown"], isShallow: true)
        #expect(pending.paths.values.sorted() == ["shown/inner", "shown/one"])
        let live = try await Live("", test, in: ["shown"], isShallow: true)
        #expect(live.paths.values.sorted() == ["shown/inner", "shown/one"])
        #expect(live.examined == 2)
        let root = try await Live("", test, isShallow: true)
        #expect(root.paths.values.sorted() == ["beside", "shown"])

        try test.create("deeper", in: inner)
        // (The folder inside has another date.)
        #expect(try await live.update().changed.map(\.row.name) == ["inner"])
        #expect(live.paths.values.sorted() == ["shown/inner", "shown/one"])
        #expect(try await root.update().isEmpty)
        try test.create("two", in: shown)
        #expect(try await live.update().added.map(\.row.name) == ["two"])
        // A folder with contents that moves in is one item.
        try test.rename("beside", "moved in", to: shown)
        #expect(try await live.update().added.map(\.row.name) == ["moved in"])
        #expect(try await root.update().removed.count == 1)
        try test.rename("one", "one", from: shown, to: inner)
        #expect(try await live.update().removed.count == 1)
        try test.rename("shown", "renamed")
        try await live.update()
        #expect(live.paths.values.sorted() == ["renamed/inner", "renamed/moved in", "renamed/two"])
        #expect(try await root.update().changed.count == 1)
    }

    @Test func statesAreFollowed() async throws {
        try test.list([document("folder", kind: .folder)])
        let inode = try test.create("draft", in: test.inode("folder"))
        let (pending, pinned) = (try await Live("state:uploading", test), try await Live("state:pinned", test))
        #expect(Array(pending.paths.values) == ["folder/draft"])
        try test.catalog.write { writer in
            let row = try writer.item(of: inode)!
            try writer.confirmCreation(
                row.id, as: document("folder/draft", in: "id:folder"), contentRevision: row.contentRevision,
                metadataRevision: row.metadataRevision)
            try writer.setPinned(try writer.item(of: try writer.resolve(["folder"]).id)!.id, true)
        }
        #expect(try await pending.update().removed.count == 1)
        try await pinned.update()
        #expect(pinned.paths.values.sorted() == ["folder", "folder/draft"])
    }

    @Test func moreThanIsWorthNamingIsComparedAsAWhole() async throws {
        let live = try await Live("report", test)
        try test.list((0..<21_000).map { document("report \($0)") })
        #expect(try await live.update().added.count == 21_000)
        #expect(live.paths.count == 21_000)
        try test.list([document("report 1")])
        try await live.update()
        #expect(live.paths.count == 1 && live.paths.values.contains("report 1"))
    }

    @Test func aTransactionThatIsTakenBackTellsNothing() async throws {
        let live = try await Live("", test)
        struct Refused: Error {}
        _ = try? test.catalog.write { writer in
            _ = try writer.create(
                NewFile(kind: .document, mode: 0o644, uid: 1_000, gid: 2_000), in: .root, named: "x", settle: 0)
            throw Refused()
        }
        #expect(try await live.update().isEmpty)
    }

    /// Whatever programs do, a list that is kept up to date is the one that a new search finds.
    @Test(arguments: 1...6) func keptUpToDateItIsWhatANewOneFinds(_ seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        try test.create("inner", in: test.create("scope", kind: .folder), kind: .folder)
        var folders: [String] = ["", "scope", "scope/inner"]
        let parts = ["report", "letter", "Résumé", "IMG", "a", "note.txt", "x.pdf"]
        let queries = ["report", "kind:pdf OR resume", "path:letter", "size:>50", "state:uploading -img", "", "a"]
        var lives: [(text: String, scopes: [String]?, live: Live)] = []
        for scopes in [nil, ["scope"]] {
            for text in queries { lives.append((text, scopes, try await Live(text, test, in: scopes))) }
        }
        func name() -> String { parts.randomElement(using: &random)! + "\(Int.random(in: 0..<6, using: &random))" }
        func path(_ folder: String, _ name: String) -> String { folder.isEmpty ? name : folder + "/" + name }
        for step in 0..<300 {
            let (from, to) = (folders.randomElement(using: &random)!, folders.randomElement(using: &random)!)
            let (old, new) = (name(), name())
            guard let folder = try? test.inode(from), let target = try? test.inode(to) else { continue }
            switch Int.random(in: 0..<10, using: &random) {
            case 0...3: _ = try? test.create(Filename(old), in: folder)
            case 4:
                if (try? test.create(Filename(old), in: folder, kind: .folder)) != nil, folders.count < 12 {
                    folders.append(path(from, old))
                }
            case 5...6: try? test.rename(Filename(old), Filename(new), from: folder, to: target)
            case 7: try? test.unlink(Filename(old), in: folder)
            case 8:
                if let inode = try? test.inode(path(from, old)),
                    try test.catalog.read({ try !$0.inode(inode).isFolder })
                {
                    try test.edit(inode, size: Int64.random(in: 0..<100, using: &random))
                }
            default: if Bool.random(using: &random) { _ = try test.names.grow() }
            }
            guard step % 10 == 9 else { continue }
            for (text, scopes, live) in lives {
                try await live.update()
                let wanted = try await test.find(text, in: scopes)
                let what: Comment = "\(text) in \(scopes ?? []), step \(step), seed \(seed)"
                #expect(live.paths.values.sorted() == wanted, what)
                #expect(try await test.find(text, in: scopes, withIndex: false) == wanted, what)
            }
        }
    }
}

private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }
    mutating func next() -> UInt64 {
        // SplitMix64.
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

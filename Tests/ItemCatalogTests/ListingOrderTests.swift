import FileProvider
import Foundation
import Testing

@testable import ItemCatalog
@testable import Trees

/// What a program sees that lists a folder bit by bit and changes it meanwhile.
@Suite struct ListingOrderTests {
    private let catalog = try! TestCatalog()

    /// Lists a folder, few names at a time, and calls `body` with each entry. Stops after far more than there are.
    private func list(
        _ folder: InodeID = .root, _ body: (FolderEntry) throws -> Void = { _ in }
    ) throws -> [Filename] {
        var seen: [Filename] = []
        var cookie: Int64 = 0
        while seen.count < 1_000 {
            let entries = try catalog.catalog.read { try $0.children(of: folder, after: cookie, limit: 3) }
            guard let last = entries.last else { break }
            cookie = last.cookie
            for entry in entries {
                seen.append(entry.name)
                try body(entry)
            }
        }
        return seen
    }

    private func fill(_ count: Int = 40) throws -> Set<Filename> {
        let names = (0..<count).map { Filename("name \($0)") }
        // Some are the store's, which stand behind those of programs.
        try catalog.list((0..<count / 2).map { remote("id\($0)", names[$0]) })
        for name in names[(count / 2)...] { try catalog.create(name) }
        return Set(names)
    }

    @Test func anEntryThatIsRenamedWhenItIsSeenIsSeenOnce() throws {
        let names = try fill()
        let seen = try list { try catalog.rename($0.name, Filename($0.name.string + ".x")) }
        #expect(seen.count == names.count && Set(seen) == names)
        #expect(try Set(catalog.names()) == Set(names.map { $0.string + ".x" }))
    }

    @Test func allThatAreRenamedInTheMiddleOfAListingAreSeenOnce() throws {
        let names = try fill()
        var inodes: [InodeID] = []
        _ = try list { entry in
            inodes.append(entry.inode.id)
            if inodes.count == 20 {
                for name in names { try catalog.rename(name, Filename("other " + name.string)) }
            }
        }
        #expect(inodes.count == names.count && Set(inodes).count == names.count)
    }

    @Test func whatIsMadeForEachEntryIsNotSeenInTheSameListing() throws {
        let names = try fill()
        let folder = try catalog.create("folder", kind: .folder)
        try catalog.create("inner", in: folder.id)
        let seen = try list { entry in
            try catalog.create(Filename(entry.name.string + ".made"))
            if entry.inode.kind == .document {
                _ = try catalog.catalog.write {
                    try $0.link(entry.inode.id, to: Filename(entry.name.string + ".link"), in: .root)
                }
            }
            // Made anew, it is another entry, which is not seen either.
            if entry.name == "name 30" {
                try catalog.unlink(entry.name)
                try catalog.create(entry.name)
            }
        }
        #expect(seen.count == names.count + 1 && Set(seen) == names.union(["folder"]))
        // And in the next one.
        #expect(try list().count == 2 * seen.count + names.count)
    }

    @Test func anEntryThatLeavesAndComesBackIsSeenOnce() throws {
        let names = try fill()
        let folder = try catalog.create("folder", kind: .folder)
        let seen = try list { entry in
            guard entry.name != "folder" else { return }
            try catalog.catalog.write { writer in
                _ = try writer.rename(
                    entry.name, in: .root, to: "away", in: folder.id, noReplace: true, settle: 0)
                _ = try writer.rename("away", in: folder.id, to: entry.name, in: .root, noReplace: true, settle: 0)
            }
        }
        #expect(seen.count == names.count + 1 && Set(seen) == names.union(["folder"]))
    }

    /// The store renames what a program is just listing.
    @Test func whatTheStoreRenamesIsSeenOnce() throws {
        let old = (0..<20).map { remote("id\($0)", Filename("old \($0)")) }
        try catalog.list(old)
        var inodes: [InodeID] = []
        _ = try list { entry in
            inodes.append(entry.inode.id)
            if inodes.count == 9 { try catalog.list((0..<20).map { remote("id\($0)", Filename("new \($0)")) }) }
        }
        #expect(inodes.count == 20 && Set(inodes).count == 20)
        #expect(try Set(catalog.names()) == Set((0..<20).map { "new \($0)" }))
    }

    /// Also after a restart, which does not know what it gave out last.
    @Test func whatIsMadeAfterARestartStandsBeforeTheOthers() throws {
        let names = try fill(6)
        let again = try Catalog(path: catalog.catalog.path, domain: "test:", owner: (1_000, 1_000))
        defer { again.close() }
        _ = try again.write {
            try $0.create(NewFile(kind: .folder, mode: 0o755, uid: 0, gid: 0), in: .root, named: "later", settle: 0)
        }
        let listed = try again.read { try $0.children(of: .root, after: 0, limit: 100) }
        #expect(listed.first?.name == "later" && Set(listed.map(\.name)) == names.union(["later"]))
        // Programs to which a place in a listing has 31 bits, and those to which 0 is the beginning.
        #expect(listed.allSatisfy { $0.cookie > 0 && $0.cookie < 1 << 31 })
    }
}

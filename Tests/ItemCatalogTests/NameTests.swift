import FileProvider
import ItemCatalog
import Testing
import Trees

@Suite struct NameTests {
    private let catalog: TestCatalog

    init() throws {
        catalog = try TestCatalog()
        try catalog.list([])
    }

    @Test func aNewDocumentIsPendingAtOnce() throws {
        let inode = try catalog.create("a")
        #expect(inode.kind == .document && inode.linkCount == 1 && inode.size == 0)
        #expect(try catalog.inode("a").id == inode.id)
        let pending = try catalog.pending()
        #expect(pending.map(\.item.inode) == [inode.id])
        #expect(pending.first?.item.identifier == nil)
        #expect(pending.first?.item.contentRevision ?? 0 > 0)
    }

    @Test func aNewDocumentCarriesADirtyMark() throws {
        let inode = try catalog.catalog.write {
            try $0.create(NewFile(kind: .document, mode: 0o600, uid: 1, gid: 2), in: .root, named: "d", settle: 60)
        }
        #expect(inode.writing == .modified)
        #expect(try catalog.catalog.read { try $0.inodesBeingWritten() }.map(\.id) == [inode.id])
        // It is not sent before the settle time is over.
        #expect(try catalog.catalog.read { try $0.pending(at: .now, limit: 10) }.isEmpty)
    }

    @Test func aTakenNameIsRefused() throws {
        try catalog.create("a")
        #expect(failure { try catalog.create("a") } == .exists)
        #expect(failure { try catalog.create("a", kind: .folder) } == .exists)
        #expect(try catalog.names() == ["a"])
    }

    @Test func nothingIsMadeInADocumentOrInARemovedFolder() throws {
        let document = try catalog.create("a")
        #expect(failure { try catalog.create("b", in: document.id) } == .notFolder)
        let folder = try catalog.create("f", kind: .folder)
        _ = try catalog.catalog.write { try $0.removeFolder("f", in: .root, settle: 0) }
        #expect(failure { try catalog.create("b", in: folder.id) } == .notFound)
    }

    @Test func subfoldersCountAsLinks() throws {
        #expect(try catalog.inode(.root).linkCount == 2)
        let folder = try catalog.create("f", kind: .folder)
        #expect(folder.linkCount == 2)
        let inner = try catalog.create("g", in: folder.id, kind: .folder)
        try catalog.create("d", in: folder.id)
        #expect(try catalog.inode(.root).linkCount == 3)
        #expect(try catalog.inode(folder.id).linkCount == 3)
        // Moved up, it counts there.
        try catalog.rename("g", "g", from: folder.id)
        #expect(try catalog.inode(.root).linkCount == 4)
        #expect(try catalog.inode(folder.id).linkCount == 2)
        // Over an empty folder: one less.
        try catalog.create("h", kind: .folder)
        #expect(try catalog.inode(.root).linkCount == 5)
        let result = try catalog.rename("g", "h")
        #expect(result.replaced?.linkCount == 0)
        #expect(try catalog.inode(.root).linkCount == 4)
        #expect(try catalog.inode("h").id == inner.id)
        _ = try catalog.catalog.write { try $0.removeFolder("h", in: .root, settle: 0) }
        #expect(try catalog.inode(.root).linkCount == 3)
    }

    @Test func aSetgidFolderHandsItsGroupDown() throws {
        let folder = try catalog.create("f", kind: .folder)
        _ = try catalog.catalog.write {
            try $0.setAttributes(folder.id, to: AttributeChange(mode: 0o2755, gid: 77), settle: 0)
        }
        let inner = try catalog.create("g", in: folder.id, kind: .folder)
        let document = try catalog.create("d", in: folder.id)
        #expect(inner.gid == 77 && inner.mode & 0o2000 != 0)
        #expect(document.gid == 77 && document.mode & 0o2000 == 0)
    }

    @Test func unlinkLeavesTheInodeToItsOpenersAndATombstoneToThePlanner() throws {
        let inode = try catalog.create("a")
        try catalog.confirm(inode.id, as: "A")
        let unlinked = try catalog.unlink("a")
        #expect(unlinked.linkCount == 0)
        #expect(try catalog.names() == [])
        #expect(try catalog.catalog.read { try $0.orphans() } == [inode.id])
        let tombstone = try catalog.item(identified: "A").orThrow("no tombstone")
        #expect(tombstone.local == nil && tombstone.base != nil && tombstone.inode == nil)
        #expect(try catalog.pending().map(\.item.id) == [tombstone.id])
        try catalog.catalog.write { try $0.deleteInode(inode.id) }
        #expect(try catalog.catalog.read { try $0.inodeIfPresent(inode.id) } == nil)
        #expect(try catalog.item(identified: "A") != nil)
    }

    @Test func deleteInodeSparesWhatHasAName() throws {
        let inode = try catalog.create("a")
        try catalog.catalog.write { try $0.deleteInode(inode.id) }
        #expect(try catalog.inode("a").id == inode.id)
    }

    @Test func theErrorsOfUnlinkAndRmdir() throws {
        let folder = try catalog.create("f", kind: .folder)
        try catalog.create("d", in: folder.id)
        try catalog.create("a")
        let catalog = catalog
        func rmdir(_ name: Filename) throws {
            _ = try catalog.catalog.write { try $0.removeFolder(name, in: .root, settle: 0) }
        }
        #expect(failure { try catalog.unlink("f") } == .isFolder)
        #expect(failure { try catalog.unlink("none") } == .notFound)
        #expect(failure { try rmdir("a") } == .notFolder)
        #expect(failure { try rmdir("f") } == .notEmpty)
        #expect(failure { try rmdir("none") } == .notFound)
        try catalog.unlink("d", in: folder.id)
        #expect(failure { try rmdir("f") } == nil)
        #expect(try catalog.names() == ["a"])
    }

    @Test func whatWasNeverListedIsUnknownNotAbsent() throws {
        try catalog.list([remote("F", "f", kind: .folder)])
        let folder = try catalog.inode("f")
        #expect(failure { try catalog.unlink("x", in: folder.id) } == .notEnumerated(folder.id))
        #expect(
            failure { _ = try catalog.catalog.write { try $0.removeFolder("f", in: .root, settle: 0) } }
                == .notEnumerated(folder.id))
        #expect(
            failure { _ = try catalog.catalog.read { try $0.resolve(["f", "x"]) } } == .notEnumerated(folder.id))
        try catalog.list([], in: folder.id)
        #expect(failure { _ = try catalog.catalog.read { try $0.resolve(["f", "x"]) } } == .notFound)
        #expect(try catalog.catalog.read { try $0.resolve(["f"]) }.id == folder.id)
    }

    @Test func inodeNumbersAreNeverReused() throws {
        var seen: Set<InodeID> = []
        for _ in 0..<5 {
            let inode = try catalog.create("a")
            #expect(seen.insert(inode.id).inserted)
            try catalog.unlink("a")
            try catalog.catalog.write { try $0.deleteInode(inode.id) }
        }
        let highest = try catalog.catalog.read { try $0.highestInode() }
        #expect(seen.allSatisfy { $0.rawValue <= highest.rawValue })
    }

    /// A listing read in pieces misses nothing that was there throughout, and shows nothing twice.
    @Test func cookiesAreStableWhileEntriesComeAndGo() throws {
        var generator = SystemRandomNumberGenerator()
        let lasting = (0..<60).map { Filename("lasting \($0)") }
        var passing: [Filename] = []
        for (number, name) in lasting.enumerated() {
            try catalog.create(name)
            passing.append(Filename("passing \(number)"))
            try catalog.create(passing.last!)
        }
        var seen: [Filename] = []
        var cookie: Int64 = 0
        var number = 0
        while true {
            let entries = try catalog.catalog.read { try $0.children(of: .root, after: cookie, limit: 7) }
            guard let last = entries.last else { break }
            cookie = last.cookie
            seen += entries.map(\.name)
            for _ in 0..<3 {
                if let name = passing.indices.randomElement(using: &generator).map({ passing.remove(at: $0) }) {
                    try catalog.unlink(name)
                }
            }
            number += 1
            if number < 20 { try catalog.create(Filename("new \(number)")) }
        }
        #expect(Set(lasting).isSubset(of: seen))
        #expect(Set(seen).count == seen.count)
    }

    @Test func pathsLeadBothWays() throws {
        let folder = try catalog.create("f", kind: .folder)
        let document = try catalog.create("d", in: folder.id)
        #expect(try catalog.catalog.read { try $0.path(of: document.id) } == ["f", "d"])
        #expect(try catalog.catalog.read { try $0.resolve(["f", "d"]) }.id == document.id)
        #expect(try catalog.catalog.read { try $0.path(of: .root) } == [])
        #expect(failure { _ = try catalog.catalog.read { try $0.resolve(["f", "d", "e"]) } } == .notFolder)
        try catalog.unlink("d", in: folder.id)
        #expect(try catalog.catalog.read { try $0.path(of: document.id) } == nil)
    }

    @Test func namesAreBytes() throws {
        let name = Filename(bytes: [0xff, 0x20, 0x80])
        let inode = try catalog.create(name)
        #expect(try catalog.inode(name).id == inode.id)
        #expect(try catalog.catalog.read { try $0.children(of: .root, after: 0, limit: 9) }.first?.name == name)
        #expect(try catalog.item(name).local?.name == name)
    }
}

import FileProvider
import Foundation
import ItemCatalog
import MountHarness
import Testing
import Trees

/// `hydrant doctor`, the catalog's part: every rule, broken on purpose.
@Suite struct ExaminationTests {
    private let test: TestCatalog

    /// F (a folder of the store's) with G and a (10 bytes) in it; b, a document of ours, with a second name c.
    init() throws {
        test = try TestCatalog()
        try test.list([remote("F", "F", kind: .folder)])
        let folder = try test.inode("F").id
        try test.list([remote("G", "G", kind: .folder, in: "F"), remote("A", "a", in: "F")], in: folder)
        let own = try test.create("b")
        try test.catalog.write { _ = try $0.link(own.id, to: "c", in: folder) }
    }

    private func examine() throws -> [CatalogFinding] {
        let folder = NSTemporaryDirectory() + "copy-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let copy = try Catalog.copy(of: test.catalog.path, to: folder, isInUse: true)
        defer { copy.close() }
        return try copy.read { try $0.examine() }
    }

    static let ofA = "WHERE id = (SELECT inode FROM name WHERE name = x'61')"
    static let breakages: [(CatalogFinding.Rule, String)] = [
        (
            .database,
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'nlink = 0', 'nlink = 1') "
                + "WHERE name = 'inode_orphan'; PRAGMA schema_version = 4711"
        ),
        (.reference, "UPDATE name SET inode = 9999 WHERE name = x'61'"),
        (.linkCount, "UPDATE inode SET nlink = 3 \(ofA)"),
        (.linkCount, "DELETE FROM name WHERE name = x'63'"),
        (.folderLinkCount, "UPDATE inode SET nlink = 7 WHERE id = 1"),
        (.folderNames, "INSERT INTO name (folder, name, inode) SELECT 1, x'78', inode FROM name WHERE name = x'46'"),
        (.folderNames, "INSERT INTO name (folder, name, inode) SELECT folder, x'78', 1 FROM name WHERE name = x'61'"),
        (.nameWithoutFolder, "UPDATE name SET folder = 9999 WHERE name = x'61'"),
        (.nameWithoutFolder, "UPDATE name SET folder = (SELECT inode FROM name WHERE name = x'61') WHERE name = x'62'"),
        (.nameWithoutInode, "UPDATE name SET inode = 9999 WHERE name = x'61'"),
        (.unreachable, "UPDATE name SET folder = (SELECT inode FROM name WHERE name = x'47') WHERE name = x'46'"),
        (.itemPlace, "UPDATE item SET local_name = x'7a' WHERE local_name = x'61'"),
        (.itemPlace, "UPDATE item SET local_parent = 9999 WHERE local_name = x'61'"),
        (.itemPlace, "UPDATE item SET inode = NULL WHERE local_name = x'61'"),
        (.inodeWithoutItem, "DELETE FROM item WHERE local_name = x'61'"),
        (.extents, "UPDATE inode SET extents = x'0000000000000000ff00000000000000' \(ofA)"),
        (.extents, "UPDATE inode SET extents = x'010203' \(ofA)"),
        (.extents, "UPDATE inode SET base_size = 1000 \(ofA)"),
        (.extents, "UPDATE inode SET size = -1 \(ofA)"),
    ]

    @Test func nothingIsWrong() throws {
        #expect(try examine() == [])
        // Nor after everything that programs and stores do.
        let folder = try test.inode("F").id
        try test.rename("a", "moved", from: folder)
        try test.edit(try test.inode("moved").id)
        try test.rename("b", "moved")
        try test.create("inner", in: folder, kind: .folder)
        try test.rename("inner", "outer", from: folder)
        try test.unlink("c", in: folder)
        try test.list([remote("N", "new", kind: .folder), remote("F", "F2", kind: .folder), remote("D", "d", size: 0)])
        #expect(try examine() == [])
    }

    @Test(arguments: breakages)
    func broken(_ rule: CatalogFinding.Rule, _ sql: String) throws {
        try SQLite.execute(sql, in: test.catalog.path)
        #expect(try examine().contains { $0.rule == rule })
    }

    @Test func everyRuleIsTried() {
        #expect(Set(Self.breakages.map(\.0)) == Set(CatalogFinding.Rule.allCases))
    }

    @Test func linkCountsAreRepaired() throws {
        for sql in ["UPDATE inode SET nlink = 3 \(Self.ofA)", "UPDATE inode SET nlink = 7 WHERE id = 1"] {
            try SQLite.execute(sql, in: test.catalog.path)
        }
        let findings = try examine()
        #expect(findings.count == 2)
        for finding in findings {
            let repair = try #require(finding.repair)
            try test.catalog.write { try $0.repair(repair) }
        }
        #expect(try examine() == [])
        #expect(try test.inode(.root).linkCount == 3)
    }

    /// At a link count of 0 it would be removed at the next mount.
    @Test func whatHasNoNameLeftIsNotRemovedByARepair() throws {
        try SQLite.execute("DELETE FROM name WHERE name IN (x'62', x'63')", in: test.catalog.path)
        let found = try examine().filter { $0.rule == .linkCount }
        #expect(found.count == 1 && found.allSatisfy { $0.repair == nil })
    }

    @Test func foldersOfTheStoreAreListedAnew() throws {
        let own = try test.create("own", kind: .folder)
        try test.catalog.write { try $0.forgetListings() }
        #expect(try !test.inode("F").isEnumerated)
        #expect(try !test.inode(.root).isEnumerated)
        // Nobody but we knows what is in it.
        #expect(try test.inode(own.id).isEnumerated)
    }

    @Test func aCopyLeavesTheOriginalAlone() throws {
        test.catalog.close()
        let path = test.catalog.path
        let before = FileManager.default.contents(atPath: path)
        let folder = test.directory + "/copies"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let copy = try Catalog.copy(of: path, to: folder, isInUse: false)
        try copy.write {
            _ = try $0.create(NewFile(kind: .folder, mode: 0o700, uid: 0, gid: 0), in: .root, named: "x", settle: 0)
        }
        copy.close()
        #expect(FileManager.default.contents(atPath: path) == before)
        #expect(failure { _ = try Catalog.copy(of: path + "-none", to: folder, isInUse: false) } == .notFound)
    }

    @Test func labelFactsSayWhatIsOnlyHere() throws {
        func facts(_ name: Filename, in folder: InodeID = .root) throws -> LabelFacts? {
            let inode = try test.inode(name, in: folder).id
            return try test.catalog.read { try $0.labelFacts(of: inode) }
        }
        let folder = try test.inode("F").id
        #expect(try facts("b")?.isOnlyHere == true)
        #expect(try facts("a", in: folder)?.isOnlyHere == false)
        try test.edit(try test.inode("a", in: folder).id)
        let edited = try #require(try facts("a", in: folder))
        #expect(edited.isOnlyHere && edited.identifier == ItemIdentifier("A") && edited.base == ContentVersion("v1"))
        #expect(
            Set(try test.catalog.read { try $0.documentsOnlyHere() }.map(\.id))
                == [try test.inode("b").id, try test.inode("a", in: folder).id])
        try test.confirm(try test.inode("b").id, as: "B")
        #expect(try facts("b")?.isOnlyHere == false)
    }
}

import FileProvider
import Testing

@testable import ItemCatalog
@testable import Trees

/// What no store gives away: the rights of this machine's users; and what it cannot do: moves between its volumes.
@Suite struct StoreRightsTests {
    private let catalog: TestCatalog

    init() throws {
        catalog = try TestCatalog()
        try catalog.list([])
    }

    private func chmod(_ inode: InodeID, _ mode: UInt32) throws {
        try catalog.catalog.write { _ = try $0.setAttributes(inode, to: AttributeChange(mode: mode), settle: 0) }
    }

    private func setCapability(_ inode: InodeID) throws {
        try catalog.catalog.write {
            try $0.setExtendedAttribute(
                Array("security.capability".utf8), to: [1], of: inode, presence: .any, settle: 0)
        }
    }

    private func attributes(_ inode: InodeID) throws -> Int {
        try catalog.catalog.read { try $0.extendedAttributeNames(of: inode) }.count
    }

    /// What is here of the item is what the store has.
    private func settle(_ name: Filename, as identifier: String) throws {
        let item = try catalog.item(name)
        try catalog.catalog.write {
            try $0.confirmContents(
                item.id, as: remote(identifier, name, kind: item.kind), contentRevision: item.contentRevision,
                metadataRevision: item.metadataRevision)
        }
    }

    @Test("setuid and setgid of the store are ignored", arguments: [ItemKind.document, .folder])
    func setID(_ kind: ItemKind) throws {
        try catalog.list([remote("A", "a", kind: kind, mode: 0o7755)])
        #expect(try catalog.inode("a").mode == 0o1755)
        #expect(try catalog.item("a").remoteFacts.mode == 0o1755)
        try catalog.list([remote("A", "a", metadata: "m2", kind: kind, mode: 0o6711)])
        #expect(try catalog.inode("a").mode == 0o711)
    }

    @Test("setuid set here is cleared by new contents of the store") func otherBytes() throws {
        try catalog.list([remote("A", "a", mode: 0o755)])
        let inode = try catalog.inode("a").id
        try chmod(inode, 0o6755)
        try setCapability(inode)
        try settle("a", as: "A")
        #expect(try catalog.inode("a").mode == 0o6755 && attributes(inode) == 1)
        try catalog.list([remote("A", "a", content: "v2", mode: 0o755)])
        #expect(try catalog.inode("a").mode == 0o755 && attributes(inode) == 0)
    }

    @Test("a folder keeps its setgid bit when the store changes its mode") func folders() throws {
        try catalog.list([remote("A", "a", kind: .folder, mode: 0o755)])
        try chmod(try catalog.inode("a").id, 0o2755)
        try settle("a", as: "A")
        try catalog.list([remote("A", "a", metadata: "m3", kind: .folder, mode: 0o750)])
        #expect(try catalog.inode("a").mode == 0o2750)
    }

    @Test("files that a mount gives another owner lose setuid") func otherOwner() throws {
        let (mine, theirs) = (try catalog.create("mine").id, try catalog.create("theirs").id)
        try catalog.catalog.write {
            _ = try $0.setAttributes(mine, to: AttributeChange(mode: 0o6755), settle: 0)
            _ = try $0.setAttributes(theirs, to: AttributeChange(uid: 5, gid: 5), settle: 0)
            _ = try $0.setAttributes(theirs, to: AttributeChange(mode: 0o6755), settle: 0)
        }
        let before = catalog.defaults
        func dress(uid: UInt32) throws {
            let defaults = PlaceholderDefaults(
                uid: uid, gid: before.gid, documentMode: before.documentMode, folderMode: before.folderMode)
            try catalog.catalog.write { try $0.applyDefaults(defaults, before: before) }
        }
        try dress(uid: before.uid)
        #expect(try catalog.inode(mine).mode == 0o6755)
        try dress(uid: 0)
        #expect(try catalog.inode(mine).uid == 0 && catalog.inode(mine).mode == 0o755)
        #expect(try catalog.inode(theirs).uid == 5 && catalog.inode(theirs).mode == 0o6755)
    }

    // MARK: Volumes

    private func volumes() throws {
        var volume = remote("V", "volume", kind: .folder)
        volume.isVolume = true
        volume.capabilities = .all.subtracting([.renaming, .deleting])
        try catalog.list([volume, remote("F", "folder", kind: .folder), remote("A", "a"), remote("B", "b")])
        let inode = try catalog.inode("volume").id
        try catalog.list(
            [remote("I", "inner", kind: .folder, in: "V"), remote("C", "c", in: "V")], in: inode)
        try catalog.list([], in: try catalog.inode("inner", in: inode).id)
        try catalog.list([], in: try catalog.inode("folder").id)
    }

    private func rename(
        _ name: Filename, _ newName: Filename, from folder: InodeID, to newFolder: InodeID
    ) -> CatalogError.Code? {
        failure {
            try catalog.catalog.write {
                try $0.requireMayRename(name, in: folder, to: newName, in: newFolder)
                _ = try $0.rename(name, in: folder, to: newName, in: newFolder, noReplace: false, settle: 0)
            }
        }
    }

    @Test("an item of the store cannot be renamed, linked or exchanged between two volumes") func otherVolume() throws {
        try volumes()
        #expect(try catalog.item("volume").remoteFacts.isVolume && catalog.item("volume").capabilities != .all)
        #expect(try !catalog.item("folder").remoteFacts.isVolume)
        let (volume, folder) = (try catalog.inode("volume").id, try catalog.inode("folder").id)
        let inner = try catalog.inode("inner", in: volume).id
        for target in [volume, inner] {
            #expect(rename("a", "a", from: .root, to: target) == .otherVolume)
            #expect(rename("folder", "f", from: .root, to: target) == .otherVolume)
        }
        #expect(rename("a", "c", from: .root, to: volume) == .otherVolume)
        #expect(rename("c", "c", from: volume, to: folder) == .otherVolume)
        #expect(rename("inner", "i", from: volume, to: .root) == .otherVolume)
        #expect(rename("volume", "v", from: .root, to: .root) == .notAllowed)
        let a = try catalog.inode("a").id
        #expect(failure { try catalog.catalog.write { try $0.requireMayLink(a, to: "l", in: inner) } } == .otherVolume)
        #expect(
            failure {
                try catalog.catalog.write { try $0.requireMayExchange("a", in: .root, with: "c", in: volume) }
            } == .otherVolume)
        // A new folder may be full of what the store has.
        try catalog.create("new", kind: .folder)
        #expect(rename("new", "new", from: .root, to: volume) == .otherVolume)
        #expect(try catalog.pendingNames() == ["new"])
    }

    @Test("rename, link and exchange work within one volume, and for items that the store does not have")
    func sameVolume() throws {
        try volumes()
        let (volume, folder) = (try catalog.inode("volume").id, try catalog.inode("folder").id)
        let inner = try catalog.inode("inner", in: volume).id
        #expect(rename("c", "c", from: volume, to: inner) == nil)
        #expect(rename("a", "a", from: .root, to: folder) == nil)
        // As programs save: a new file over a document.
        try catalog.create("temporary")
        #expect(rename("temporary", "c", from: .root, to: inner) == nil)
        #expect(try catalog.item("c", in: inner).identifier == ItemIdentifier("C"))
        // It is none any more.
        try catalog.list([
            remote("V", "volume", metadata: "m2", kind: .folder), remote("F", "folder", kind: .folder),
            remote("B", "b"),
        ])
        #expect(rename("b", "b", from: .root, to: volume) == nil)
    }
}

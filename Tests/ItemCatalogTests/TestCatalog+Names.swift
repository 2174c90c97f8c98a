import FileProvider
import ItemCatalog
import Trees

/// What saves and hard links are told by: more of what programs do, and what is to be sent because of it.
extension TestCatalog {
    /// Programs' changes are sent a minute later: long enough for a save to be one change.
    static func unsettled() throws -> TestCatalog {
        let catalog = try TestCatalog()
        try catalog.list([])
        catalog.settle = 60
        return catalog
    }

    // MARK: Programs

    /// A document that the store has, all of it here.
    @discardableResult
    func document(_ name: Filename, _ identifier: String, in folder: InodeID = .root) throws -> InodeRecord {
        let inode = try create(name, in: folder)
        try confirm(inode.id, as: identifier)
        return try self.inode(inode.id)
    }

    /// A folder that the store has.
    @discardableResult
    func folder(_ name: Filename, _ identifier: String, in folder: InodeID = .root) throws -> InodeRecord {
        let inode = try create(name, in: folder, kind: .folder)
        try confirm(inode.id, as: identifier)
        return try self.inode(inode.id)
    }

    /// mkfifo(3).
    @discardableResult
    func pipe(_ name: Filename, in folder: InodeID = .root) throws -> InodeRecord {
        try catalog.write {
            try $0.create(
                NewFile(special: .pipe, device: 0, mode: 0o644, uid: 1_000, gid: 1_000), in: folder, named: name,
                settle: settle)
        }
    }

    /// link(2).
    @discardableResult
    func link(_ inode: InodeID, _ name: Filename, in folder: InodeID = .root) throws -> InodeRecord {
        try catalog.write { try $0.link(inode, to: name, in: folder) }
    }

    func exchange(
        _ name: Filename, _ newName: Filename, from folder: InodeID = .root, to newFolder: InodeID = .root
    ) throws {
        try catalog.write { try $0.exchange(name, in: folder, with: newName, in: newFolder, settle: settle) }
    }

    /// The settle time is over: a later change is another one.
    func settled() throws { try catalog.write { try $0.settleNow(retrying: false) } }

    // MARK: Looking

    /// What is to be sent, one line for each difference between the trees; rows that neither side knows are none.
    func outstanding() throws -> [String] {
        try catalog.read { try $0.allPending(limit: 1_000) }.flatMap { item -> [String] in
            guard let local = item.local else { return item.identifier.map { ["delete \($0.rawValue)"] } ?? [] }
            guard let identifier = item.identifier?.rawValue else { return ["create \(local.name)"] }
            var lines: [String] = []
            if item.local != item.base { lines.append("move \(identifier) \(local.name)") }
            if item.contentRevision != 0 { lines.append("change \(identifier)") }
            if item.metadataRevision != 0 { lines.append("touch \(identifier)") }
            return lines
        }.sorted()
    }

    /// The identifier of what `name` is here; nil: the store has never had it.
    func identifier(_ name: Filename, in folder: InodeID = .root) throws -> String? {
        try item(name, in: folder).identifier?.rawValue
    }

    func item(of inode: InodeID) throws -> ItemRecord? { try catalog.read { try $0.item(of: inode) } }

    /// Every name of an inode, the oldest first.
    func places(_ inode: InodeID) throws -> [String] {
        try catalog.read { try $0.places(of: inode) }.map(\.name.string)
    }
}

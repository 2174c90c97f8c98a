import Coordination
import FileProvider
import ItemCatalog
import SyncEngine
import Trees

extension ClaimSubject {
    /// Uses the item, which stays the same when a program saves by replacing the file.
    init(_ inode: InodeID, _ reader: Catalog.Reader) throws {
        self = try reader.item(of: inode).map { .item($0.id.rawValue) } ?? .file(inode.rawValue)
    }

    /// Nil: the file is gone, or does not exist yet.
    func inode(_ reader: Catalog.Reader) throws -> InodeID? {
        switch self {
        case .item(let id):
            guard let item = try reader.item(ItemID(rawValue: id)), item.local != nil else { return nil }
            return item.inode
        case .file(let id): return try reader.inodeIfPresent(InodeID(rawValue: id))?.id
        case .name(let folder, let bytes):
            return try reader.child(of: InodeID(rawValue: folder), named: Filename(bytes: bytes))?.id
        }
    }
}

extension ClaimIntent {
    /// The claimed item; if it is gone, the item that has its name now: a save may have replaced it.
    func present(_ reader: Catalog.Reader) throws -> ClaimSubject {
        if let otherwise, try subject.inode(reader) == nil { return otherwise }
        return subject
    }
}

extension ClaimTarget {
    init(locating intent: ClaimIntent, in catalog: Catalog) {
        let found = try? catalog.read { reader in try Self.locate(intent.present(reader), reader) }
        self = found ?? ClaimTarget(intent.subject)
    }

    private static func locate(_ subject: ClaimSubject, _ reader: Catalog.Reader) throws -> ClaimTarget {
        switch subject {
        case .item(let id):
            let folders = try reader.folders(above: ItemID(rawValue: id))
            return ClaimTarget(subject, above: Set(folders.map { .item($0.rawValue) }))
        case .name(let folder, let bytes):
            let parent = InodeID(rawValue: folder)
            if let child = try reader.child(of: parent, named: Filename(bytes: bytes)) {
                return try locate(ClaimSubject(child.id, reader), reader)
            }
            return try below(parent, subject, reader)
        case .file(let id):
            guard let folder = try reader.place(of: InodeID(rawValue: id))?.folder else { return ClaimTarget(subject) }
            return try below(folder, subject, reader)
        }
    }

    private static func below(
        _ folder: InodeID, _ subject: ClaimSubject, _ reader: Catalog.Reader
    ) throws -> ClaimTarget {
        let target = try locate(ClaimSubject(folder, reader), reader)
        return ClaimTarget(subject, above: target.above.union([target.subject]))
    }
}

extension SentByOthersRoot {
    /// Nil: the file is in no store.
    init?(_ subject: ClaimSubject, _ reader: Catalog.Reader) throws {
        switch subject {
        case .item(let id): self = .item(ItemID(rawValue: id))
        case .file: return nil
        case .name(let folder, let bytes):
            guard let folder = try reader.item(of: InodeID(rawValue: folder))?.id else { return nil }
            self = .name(folder: folder, Filename(bytes: bytes))
        }
    }
}

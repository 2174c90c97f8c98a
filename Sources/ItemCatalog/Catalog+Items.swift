package import FileProvider
import Foundation

extension Filename {
    /// As a BLOB for SQLite.
    var data: Data { Data(bytes) }
}

extension Catalog.Reader {
    private static let itemColumnNames = [
        "id", "inode", "identifier", "kind", "target", "base_parent", "base_name", "base_content",
        "base_metadata", "local_parent", "local_name", "local_content", "local_metadata", "remote_parent",
        "remote_name", "remote_content", "remote_metadata", "remote_size", "remote_mtime", "remote_btime",
        "remote_mode", "ready_at", "error_code", "error", "attempts", "retry_at", "sent_hash", "sent_size",
        "pinned", "excluded", "remote_xattr", "remote_capabilities", "held_at", "attempted_parent", "attempted_name",
        "sent_before",
    ]
    static let itemColumns = itemColumnNames.map { "t.\($0)" }.joined(separator: ", ")
    static let itemColumnCount = itemColumnNames.count

    static func item(_ row: Columns) -> ItemRecord {
        func place(_ column: Int) -> TreePlace? {
            row.intOrNil(column).map {
                TreePlace(parent: ItemID(rawValue: $0), name: Filename(bytes: row.bytes(column + 1) ?? []))
            }
        }
        func version(_ column: Int) -> ItemVersion? {
            guard let content = row.bytes(column), let metadata = row.bytes(column + 1) else { return nil }
            return ItemVersion(
                content: ContentVersion(bytes: content), metadata: MetadataVersion(bytes: metadata))
        }
        let kind: ItemKind =
            switch row.int(3) {
            case 1: .folder
            case 2: .symbolicLink(target: row.bytes(4) ?? [])
            default: .document
            }
        let failure = row.text(23).map {
            ItemFailure(
                code: row.text(22) ?? "", message: $0, attempts: row.int(24),
                retryAt: FileTime(nanoseconds: row.int(25)))
        }
        let before = row.bytes(35).map { SentContent.decode($0) } ?? []
        let sent = row.bytes(26).map { before + [SentContent(hash: $0, size: row.int(27))] } ?? []
        return ItemRecord(
            id: ItemID(rawValue: row.int(0)), inode: row.intOrNil(1).map(InodeID.init(rawValue:)),
            identifier: row.text(2).map { ItemIdentifier($0) }, kind: kind, base: place(5),
            baseVersion: version(7), local: place(9), contentRevision: row.int(11), metadataRevision: row.int(12),
            remote: place(13), remoteVersion: version(15),
            remoteFacts: RemoteFacts(
                size: row.int(17), modified: row.time(18),
                born: row.timeOrNil(19),
                mode: row.intOrNil(20).map { UInt16(truncatingIfNeeded: $0 & 0o1777) },
                extendedAttributes: row.bytes(30).flatMap { ExtendedAttributes.decode($0) },
                capabilities: ItemCapabilities(column: row.intOrNil(31)),
                isVolume: RemoteFacts.isVolume(column: row.intOrNil(31))),
            readyAt: FileTime(nanoseconds: row.int(21)), failure: failure, sent: sent,
            isPinned: row.bool(28), isExcluded: row.bool(29),
            heldSince: row.intOrNil(32).map(FileTime.init(nanoseconds:)), attempted: place(33))
    }

    private static func query(_ condition: String) -> Query {
        Query("SELECT \(itemColumns) FROM item t WHERE \(condition)")
    }

    private static let byNumber = query("t.id = ?")
    private static let byInode = query("t.inode = ?")
    private static let byIdentifier = query("t.identifier = ?")
    private static let byRemoteParent = query("t.remote_parent = ?")
    private static let byRemotePlace = query("t.remote_parent = ? AND t.remote_name = ? AND t.id <> ?")

    func fetchItems(where condition: String, _ bind: (inout Bindings) -> Void) throws -> [ItemRecord] {
        try all(sql: "SELECT \(Self.itemColumns) FROM item t WHERE \(condition)", bind) { Self.item($0) }
    }

    package func item(_ id: ItemID) throws -> ItemRecord? {
        try first(Self.byNumber) {
            $0.add(id.rawValue)
        } _: {
            Self.item($0)
        }
    }

    package func item(of inode: InodeID) throws -> ItemRecord? {
        try first(Self.byInode) {
            $0.add(inode.rawValue)
        } _: {
            Self.item($0)
        }
    }

    package func item(identifiedBy identifier: ItemIdentifier) throws -> ItemRecord? {
        try first(Self.byIdentifier) {
            $0.add(identifier.rawValue)
        } _: {
            Self.item($0)
        }
    }

    /// The items that the provider last said were in this folder.
    package func remoteChildren(of folder: ItemID) throws -> [ItemRecord] {
        try all(Self.byRemoteParent) {
            $0.add(folder.rawValue)
        } _: {
            Self.item($0)
        }
    }

    /// The item that the provider last said had this name, other than `id`.
    package func remoteOccupant(of place: TreePlace, otherThan id: ItemID) throws -> ItemRecord? {
        try first(Self.byRemotePlace) { bindings in
            bindings.add(place)
            bindings.add(id.rawValue)
        } _: {
            Self.item($0)
        }
    }
}

extension Bindings {
    /// Parent and name.
    mutating func add(_ place: TreePlace?) {
        add(place?.parent.rawValue)
        add(place?.name.bytes)
    }
}

package import FileProvider
import Foundation
import GRDB

extension Filename {
    /// As a BLOB for SQLite.
    var data: Data { Data(bytes) }
}

extension Catalog.Reader {
    static let itemColumns = [
        "id", "inode", "identifier", "kind", "target", "base_parent", "base_name", "base_content",
        "base_metadata", "local_parent", "local_name", "local_content", "local_metadata", "remote_parent",
        "remote_name", "remote_content", "remote_metadata", "remote_size", "remote_mtime", "remote_btime",
        "remote_mode", "ready_at", "error_code", "error", "attempts", "retry_at", "sent_hash", "sent_size",
        "pinned", "excluded", "remote_xattr", "remote_capabilities", "held_at", "attempted_parent", "attempted_name",
        "sent_before",
    ].map { "t.\($0)" }.joined(separator: ", ")

    static func item(_ row: Row) -> ItemRecord {
        func place(_ column: Int) -> TreePlace? {
            (row[column] as Int64?).map {
                TreePlace(parent: ItemID(rawValue: $0), name: Filename(bytes: row.bytes(column + 1) ?? []))
            }
        }
        func version(_ column: Int) -> ItemVersion? {
            guard let content = row.bytes(column), let metadata = row.bytes(column + 1) else { return nil }
            return ItemVersion(
                content: ContentVersion(bytes: content), metadata: MetadataVersion(bytes: metadata))
        }
        let kind: ItemKind =
            switch row[3] as Int64 {
            case 1: .folder
            case 2: .symbolicLink(target: row.bytes(4) ?? [])
            default: .document
            }
        let failure = (row[23] as String?).map {
            ItemFailure(
                code: row[22] ?? "", message: $0, attempts: row[24], retryAt: FileTime(nanoseconds: row[25]))
        }
        let before = row.bytes(35).map { SentContent.decode($0) } ?? []
        let sent = row.bytes(26).map { before + [SentContent(hash: $0, size: row[27] ?? 0)] } ?? []
        return ItemRecord(
            id: ItemID(rawValue: row[0]), inode: (row[1] as Int64?).map(InodeID.init(rawValue:)),
            identifier: (row[2] as String?).map { ItemIdentifier($0) }, kind: kind, base: place(5),
            baseVersion: version(7), local: place(9), contentRevision: row[11], metadataRevision: row[12],
            remote: place(13), remoteVersion: version(15),
            remoteFacts: RemoteFacts(
                size: row[17], modified: FileTime(nanoseconds: row[18]),
                born: (row[19] as Int64?).map(FileTime.init(nanoseconds:)),
                mode: (row[20] as Int64?).map { UInt16(truncatingIfNeeded: $0) },
                extendedAttributes: row.bytes(30).flatMap { ExtendedAttributes.decode($0) },
                capabilities: ItemCapabilities(column: row[31])),
            readyAt: FileTime(nanoseconds: row[21]), failure: failure, sent: sent,
            isPinned: row[28] as Int64 != 0, isExcluded: row[29] as Int64 != 0,
            heldSince: (row[32] as Int64?).map(FileTime.init(nanoseconds:)), attempted: place(33))
    }

    private func fetchItem(where condition: String, _ arguments: StatementArguments) throws -> ItemRecord? {
        let statement = try db.cachedStatement(sql: "SELECT \(Self.itemColumns) FROM item t WHERE \(condition)")
        return try Row.fetchOne(statement, arguments: arguments).map { Self.item($0) }
    }

    func fetchItems(where condition: String, _ arguments: StatementArguments) throws -> [ItemRecord] {
        let statement = try db.cachedStatement(sql: "SELECT \(Self.itemColumns) FROM item t WHERE \(condition)")
        return try Row.fetchAll(statement, arguments: arguments).map { Self.item($0) }
    }

    package func item(_ id: ItemID) throws -> ItemRecord? {
        try fetchItem(where: "t.id = ?", [id.rawValue])
    }

    package func item(of inode: InodeID) throws -> ItemRecord? {
        try fetchItem(where: "t.inode = ?", [inode.rawValue])
    }

    package func item(identifiedBy identifier: ItemIdentifier) throws -> ItemRecord? {
        try fetchItem(where: "t.identifier = ?", [identifier.rawValue])
    }

    /// The items that the provider last said were in this folder.
    package func remoteChildren(of folder: ItemID) throws -> [ItemRecord] {
        try fetchItems(where: "t.remote_parent = ?", [folder.rawValue])
    }

    /// The item that the provider last said had this name, other than `id`.
    package func remoteOccupant(of place: TreePlace, otherThan id: ItemID) throws -> ItemRecord? {
        try fetchItem(
            where: "t.remote_parent = ? AND t.remote_name = ? AND t.id <> ?",
            [place.parent.rawValue, place.name.data, id.rawValue])
    }
}

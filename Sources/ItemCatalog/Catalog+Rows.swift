import FileProvider
import Foundation
import GRDB

/// Writing whole rows: every change of an inode or an item goes through these.
extension Catalog.Writer {
    /// Adds a row; the record's id is ignored and given out anew.
    func insert(_ inode: InodeRecord) throws -> InodeRecord {
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO inode (kind, mode, uid, gid, nlink, size, atime, mtime, ctime, btime, target, generation,
                    base_size, extents, writing, stamp_size, stamp_mtime, stamp_ctime, enumerated,
                    rdev, used, split_from, here)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        try statement.execute(arguments: Self.arguments(inode))
        var inserted = inode
        inserted.id = InodeID(rawValue: db.lastInsertedRowID)
        return inserted
    }

    func update(_ inode: InodeRecord) throws {
        let statement = try db.cachedStatement(
            sql: """
                UPDATE inode SET kind = ?, mode = ?, uid = ?, gid = ?, nlink = ?, size = ?, atime = ?, mtime = ?,
                    ctime = ?, btime = ?, target = ?, generation = ?, base_size = ?, extents = ?, writing = ?,
                    stamp_size = ?, stamp_mtime = ?, stamp_ctime = ?, enumerated = ?, rdev = ?, used = ?,
                    split_from = ?, here = ? WHERE id = ?
                """)
        try statement.execute(arguments: Self.arguments(inode) + [inode.id.rawValue])
    }

    private static func arguments(_ inode: InodeRecord) -> StatementArguments {
        let writing: Int64
        var stamp = BackingStamp.none
        switch inode.writing {
        case nil: writing = 0
        case .maybeModified(let seen): (writing, stamp) = (1, seen)
        case .modified: writing = 2
        }
        return [
            inode.kind.rawValue, Int64(inode.mode), Int64(inode.uid), Int64(inode.gid), inode.linkCount,
            inode.size, inode.accessed.nanoseconds, inode.modified.nanoseconds, inode.changed.nanoseconds,
            inode.born.nanoseconds, inode.target.map { Data($0) }, inode.generation, inode.baseSize,
            inode.extents.map { Data($0.blob) }, writing, stamp.size, stamp.modified.nanoseconds,
            stamp.changed.nanoseconds, inode.isEnumerated, Int64(bitPattern: inode.device), inode.used.nanoseconds,
            inode.splitFrom?.rawValue, inode.kind == .document ? inode.bytesPresent : 0,
        ]
    }

    func insert(_ item: ItemRecord) throws -> ItemRecord {
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO item (inode, identifier, kind, target, base_parent, base_name, base_content, base_metadata,
                    local_parent, local_name, local_content, local_metadata, remote_parent, remote_name, remote_content,
                    remote_metadata, remote_size, remote_mtime, remote_btime, remote_mode, ready_at, error_code, error,
                    attempts, retry_at, sent_hash, sent_size, pinned, excluded, remote_xattr,
                    remote_capabilities, held_at, attempted_parent, attempted_name, sent_before)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
                    ?, ?, ?)
                """)
        try statement.execute(arguments: Self.arguments(item))
        var inserted = item
        inserted.id = ItemID(rawValue: db.lastInsertedRowID)
        return inserted
    }

    package func update(_ item: ItemRecord) throws {
        let statement = try db.cachedStatement(
            sql: """
                UPDATE item SET inode = ?, identifier = ?, kind = ?, target = ?, base_parent = ?, base_name = ?,
                    base_content = ?, base_metadata = ?, local_parent = ?, local_name = ?, local_content = ?,
                    local_metadata = ?, remote_parent = ?, remote_name = ?, remote_content = ?, remote_metadata = ?,
                    remote_size = ?, remote_mtime = ?, remote_btime = ?, remote_mode = ?, ready_at = ?, error_code = ?,
                    error = ?, attempts = ?, retry_at = ?, sent_hash = ?, sent_size = ?, pinned = ?, excluded = ?,
                    remote_xattr = ?, remote_capabilities = ?, held_at = ?, attempted_parent = ?, attempted_name = ?,
                    sent_before = ? WHERE id = ?
                """)
        try statement.execute(arguments: Self.arguments(item) + [item.id.rawValue])
    }

    private static func arguments(_ item: ItemRecord) -> StatementArguments {
        var target: Data?
        if case .symbolicLink(let bytes) = item.kind { target = Data(bytes) }
        var arguments: StatementArguments = [
            item.inode?.rawValue, item.identifier?.rawValue, InodeKind(item.kind).rawValue, target,
            item.base?.parent.rawValue, item.base?.name.data, item.baseVersion.map { Data($0.content.bytes) },
            item.baseVersion.map { Data($0.metadata.bytes) }, item.local?.parent.rawValue, item.local?.name.data,
            item.contentRevision, item.metadataRevision, item.remote?.parent.rawValue, item.remote?.name.data,
            item.remoteVersion.map { Data($0.content.bytes) }, item.remoteVersion.map { Data($0.metadata.bytes) },
        ]
        arguments += [
            item.remoteFacts.size, item.remoteFacts.modified.nanoseconds, item.remoteFacts.born?.nanoseconds,
            item.remoteFacts.mode.map { Int64($0) }, item.readyAt.nanoseconds, item.failure?.code,
            item.failure?.message, item.failure?.attempts ?? 0, item.failure?.retryAt.nanoseconds ?? 0,
            item.sent.last.map { Data($0.hash) }, item.sent.last?.size, item.isPinned, item.isExcluded,
            item.remoteFacts.extendedAttributes.map { Data(ExtendedAttributes.encode($0)) },
            item.remoteFacts.capabilities == .all ? nil : Int64(item.remoteFacts.capabilities.rawValue),
            item.heldSince?.nanoseconds, item.attempted?.parent.rawValue, item.attempted?.name.data,
            SentContent.encode(item.sent.dropLast()).map { Data($0) },
        ]
        return arguments
    }

    package func deleteItem(_ id: ItemID) throws {
        try db.cachedStatement(sql: "DELETE FROM item WHERE id = ?").execute(arguments: [id.rawValue])
        try forgetConflicts(of: id)
    }

    /// Forgets an inode that has no name; the caller removes its bytes after the commit.
    package func deleteInode(_ id: InodeID) throws {
        try db.cachedStatement(sql: "DELETE FROM inode WHERE id = ? AND nlink = 0").execute(arguments: [id.rawValue])
        try forgetConflicts(ofCopy: id)
    }

    func link(_ inode: InodeID, in folder: InodeID, as name: Filename) throws {
        try db.cachedStatement(sql: "INSERT INTO name (folder, name, inode) VALUES (?, ?, ?)")
            .execute(arguments: [folder.rawValue, name.data, inode.rawValue])
    }

    /// Makes an existing name mean another inode, in the same place of the listing.
    func relink(_ name: Filename, in folder: InodeID, to inode: InodeID) throws {
        try db.cachedStatement(sql: "UPDATE name SET inode = ? WHERE folder = ? AND name = ?")
            .execute(arguments: [inode.rawValue, folder.rawValue, name.data])
    }

    func unlinkName(_ name: Filename, in folder: InodeID) throws {
        try db.cachedStatement(sql: "DELETE FROM name WHERE folder = ? AND name = ?")
            .execute(arguments: [folder.rawValue, name.data])
    }

    /// An item of the provider's appeared. A first listing only shows what was there all along: it leaves the
    /// folder's date alone.
    func noteArrival(in id: InodeID, links: Int64) throws {
        if try inode(id).isEnumerated { return try touch(folder: id, links: links) }
        try db.cachedStatement(sql: "UPDATE inode SET nlink = nlink + ? WHERE id = ?")
            .execute(arguments: [links, id.rawValue])
    }

    /// The folder's own times after an entry came or went; `links`: how its count of subfolders changed.
    func touch(folder id: InodeID, links: Int64 = 0) throws {
        try db.cachedStatement(sql: "UPDATE inode SET mtime = ?, ctime = ?, nlink = nlink + ? WHERE id = ?")
            .execute(arguments: [now.nanoseconds, now.nanoseconds, links, id.rawValue])
    }
}

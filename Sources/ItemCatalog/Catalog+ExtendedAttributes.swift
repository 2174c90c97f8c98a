import FileProvider
import Foundation
import GRDB

/// Extended attributes, xattr(7). Those in the `user.` namespace go to stores that keep them; the others live on
/// this machine only.
extension Catalog.Reader {
    private static let valueByName = Query("SELECT value FROM xattr WHERE inode = ? AND name = ?")

    package func extendedAttribute(_ name: [UInt8], of inode: InodeID) throws -> [UInt8]? {
        try first(Self.valueByName) { bindings in
            bindings.add(inode.rawValue)
            bindings.add(name)
        } _: {
            $0.bytes(0) ?? []
        }
    }

    package func extendedAttributeNames(of inode: InodeID) throws -> [[UInt8]] {
        let statement = try db.cachedStatement(sql: "SELECT name FROM xattr WHERE inode = ? ORDER BY name")
        return try Row.fetchAll(statement, arguments: [inode.rawValue]).map { $0.bytes(0) ?? [] }
    }

    /// The inodes that have attributes which no store is told of.
    package func inodesWithPrivateAttributes() throws -> Set<InodeID> {
        let ids = try Int64.fetchAll(
            db, sql: "SELECT DISTINCT inode FROM xattr WHERE substr(name, 1, 5) <> CAST('user.' AS BLOB)")
        return Set(ids.map { InodeID(rawValue: $0) })
    }

    /// Those that a store may have. A name that is no UTF-8 cannot be told to a provider.
    package func userAttributes(of inode: InodeID) throws -> [String: [UInt8]] {
        let statement = try db.cachedStatement(
            sql: "SELECT name, value FROM xattr WHERE inode = ? AND substr(name, 1, 5) = CAST('user.' AS BLOB)")
        var attributes: [String: [UInt8]] = [:]
        for row in try Row.fetchAll(statement, arguments: [inode.rawValue]) {
            guard let name = String(validating: row.bytes(0) ?? [], as: UTF8.self) else { continue }
            attributes[name] = row.bytes(1) ?? []
        }
        return attributes
    }
}

extension Catalog.Writer {
    /// What setxattr(2)'s flags say of an attribute that is there, or is not.
    package enum Presence: Sendable { case any, mustBeNew, mustExist }

    package func setExtendedAttribute(
        _ name: [UInt8], to value: [UInt8], of id: InodeID, presence: Presence, settle: Double
    ) throws {
        var inode = try inode(id)
        let old = try extendedAttribute(name, of: id)
        if presence == .mustBeNew && old != nil { throw CatalogError(.exists, "the attribute exists already") }
        if presence == .mustExist && old == nil { throw CatalogError(.noAttribute, "no such attribute") }
        // More than an item can have would be left out once the store has them.
        if name.starts(with: Array("user.".utf8)), value.count > old?.count ?? -1,
            try userAttributeBytes(of: id, besides: name) + name.count + value.count > ExtendedAttribute.mostBytes
        {
            throw CatalogError(.diskFull, "the file has as many extended attributes as it can")
        }
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO xattr (inode, name, value) VALUES (?, ?, ?)")
            .execute(arguments: [id.rawValue, Data(name), Data(value)])
        inode.changed = now
        try update(inode)
        if old != value { try attributesChanged(name, of: id, settle) }
    }

    /// Names and values of all in `user.` but one.
    private func userAttributeBytes(of id: InodeID, besides name: [UInt8]) throws -> Int {
        let sql = """
            SELECT TOTAL(length(name) + length(value)) FROM xattr
            WHERE inode = ? AND name <> ? AND substr(name, 1, 5) = CAST('user.' AS BLOB)
            """
        let statement = try db.cachedStatement(sql: sql)
        return try Double.fetchOne(statement, arguments: [id.rawValue, Data(name)]).map { Int($0) } ?? 0
    }

    package func removeExtendedAttribute(_ name: [UInt8], of id: InodeID, settle: Double) throws {
        guard try extendedAttribute(name, of: id) != nil else {
            throw CatalogError(.noAttribute, "no such attribute")
        }
        var inode = try inode(id)
        try db.cachedStatement(sql: "DELETE FROM xattr WHERE inode = ? AND name = ?")
            .execute(arguments: [id.rawValue, Data(name)])
        inode.changed = now
        try update(inode)
        try attributesChanged(name, of: id, settle)
    }

    private func attributesChanged(_ name: [UInt8], of id: InodeID, _ settle: Double) throws {
        guard name.starts(with: Array("user.".utf8)), id != .root else { return }
        try bumpMetadata(of: id, settle: settle)
    }

    /// The store's attributes take the place of those here; says whether that changed anything.
    func replaceUserAttributes(of id: InodeID, by attributes: [String: [UInt8]]) throws -> Bool {
        guard try userAttributes(of: id) != attributes else { return false }
        try db.cachedStatement(
            sql: "DELETE FROM xattr WHERE inode = ? AND substr(name, 1, 5) = CAST('user.' AS BLOB)"
        ).execute(arguments: [id.rawValue])
        for (name, value) in attributes {
            try db.cachedStatement(sql: "INSERT INTO xattr (inode, name, value) VALUES (?, ?, ?)")
                .execute(arguments: [id.rawValue, Data(name.utf8), Data(value)])
        }
        return true
    }

    private static let delete = Query("DELETE FROM xattr WHERE inode = ? AND name = ?")

    /// A write takes away what made a program more than its user: capabilities(7).
    package func dropCapabilities(of id: InodeID) throws {
        try run(Self.delete) { bindings in
            bindings.add(id.rawValue)
            bindings.add(Array("security.capability".utf8))
        }
    }
}

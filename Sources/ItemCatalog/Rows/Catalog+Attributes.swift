import FileProvider
package import Trees

/// Table `xattr`: extended attributes, xattr(7). Attributes in the `user.` namespace go to stores that keep them; all
/// others stay on this machine.
extension Catalog.Reader {
    private static let valueByName = Query("SELECT value FROM xattr WHERE inode = ? AND name = ?")
    private static let names = Query("SELECT name FROM xattr WHERE inode = ? ORDER BY name")
    private static let isUser = "substr(name, 1, 5) = CAST('user.' AS BLOB)"
    private static let user = Query("SELECT name, value FROM xattr WHERE inode = ? AND \(isUser)")
    private static let userBytes = Query(
        "SELECT TOTAL(length(name) + length(value)) FROM xattr WHERE inode = ? AND name <> ? AND \(isUser)")
    private static let privateInodes = Query("SELECT DISTINCT inode FROM xattr WHERE NOT \(isUser)")
    fileprivate static let userDeletion = Query("DELETE FROM xattr WHERE inode = ? AND \(isUser)")

    package func extendedAttribute(_ name: [UInt8], of inode: InodeID) throws -> [UInt8]? {
        try first(Self.valueByName) { bindings in
            bindings.add(inode.rawValue)
            bindings.add(name)
        } _: {
            $0.bytes(0) ?? []
        }
    }

    package func extendedAttributeNames(of inode: InodeID) throws -> [[UInt8]] {
        try all(Self.names) {
            $0.add(inode.rawValue)
        } _: {
            $0.bytes(0) ?? []
        }
    }

    /// Inodes with attributes that no store is told of.
    package func inodesWithPrivateAttributes() throws -> Set<InodeID> {
        Set(try all(Self.privateInodes, { _ in }) { InodeID(rawValue: $0.int(0)) })
    }

    package func userAttributes(of inode: InodeID) throws -> [String: [UInt8]] {
        var attributes: [String: [UInt8]] = [:]
        try forEach(Self.user) {
            $0.add(inode.rawValue)
        } _: { row in
            // A provider cannot be given a name that is not UTF-8.
            guard let name = String(validating: row.bytes(0) ?? [], as: UTF8.self) else { return }
            attributes[name] = row.bytes(1) ?? []
        }
        return attributes
    }

    package func userAttributeBytes(of inode: InodeID, besides name: [UInt8]) throws -> Int {
        try first(Self.userBytes) { bindings in
            bindings.add(inode.rawValue)
            bindings.add(name)
        } _: {
            Int($0.int(0))
        } ?? 0
    }
}

extension Catalog.Writer {
    private static let replacement = Query("INSERT OR REPLACE INTO xattr (inode, name, value) VALUES (?, ?, ?)")
    private static let deletion = Query("DELETE FROM xattr WHERE inode = ? AND name = ?")
    private static let copy = Query(
        "INSERT INTO xattr (inode, name, value) SELECT ?, name, value FROM xattr WHERE inode = ?")

    package func writeAttribute(_ name: [UInt8], _ value: [UInt8], of inode: InodeID) throws {
        try run(Self.replacement) { bindings in
            bindings.add(inode.rawValue)
            bindings.add(name)
            bindings.add(value)
        }
    }

    package func deleteAttribute(_ name: [UInt8], of inode: InodeID) throws {
        try run(Self.deletion) { bindings in
            bindings.add(inode.rawValue)
            bindings.add(name)
        }
    }

    package func deleteUserAttributes(of inode: InodeID) throws {
        try run(Self.userDeletion) { $0.add(inode.rawValue) }
    }

    package func copyAttributes(of inode: InodeID, to other: InodeID) throws {
        try run(Self.copy) { bindings in
            bindings.add(other.rawValue)
            bindings.add(inode.rawValue)
        }
    }
}

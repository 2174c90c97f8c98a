import FileProvider

/// The flags of setxattr(2): whether the attribute must exist.
///
/// Attributes in the `user.` namespace go to stores that keep them; all others stay on this machine (xattr(7)).
package enum AttributePresence: Sendable { case any, mustBeNew, mustExist }

extension TreeStore {
    package func setExtendedAttribute(
        _ name: [UInt8], to value: [UInt8], of id: InodeID, presence: AttributePresence, settle: Double
    ) throws {
        var inode = try inode(id)
        let old = try extendedAttribute(name, of: id)
        if presence == .mustBeNew && old != nil { throw CatalogError(.exists, "the attribute exists already") }
        if presence == .mustExist && old == nil { throw CatalogError(.noAttribute, "no such attribute") }
        // More attributes than an item can have would be lost once the store has them.
        if name.starts(with: Array("user.".utf8)), value.count > old?.count ?? -1,
            try userAttributeBytes(of: id, besides: name) + name.count + value.count > ExtendedAttribute.mostBytes
        {
            throw CatalogError(.diskFull, "the file has no room for more extended attributes")
        }
        try writeAttribute(name, value, of: id)
        inode.changed = now
        try update(inode)
        if old != value { try attributesChanged(name, of: id, settle) }
    }

    package func removeExtendedAttribute(_ name: [UInt8], of id: InodeID, settle: Double) throws {
        guard try extendedAttribute(name, of: id) != nil else {
            throw CatalogError(.noAttribute, "no such attribute")
        }
        var inode = try inode(id)
        try deleteAttribute(name, of: id)
        inode.changed = now
        try update(inode)
        try attributesChanged(name, of: id, settle)
    }

    private func attributesChanged(_ name: [UInt8], of id: InodeID, _ settle: Double) throws {
        guard name.starts(with: Array("user.".utf8)), id != .root else { return }
        try bumpMetadata(of: id, settle: settle)
    }

    /// Replaces the local attributes by the store's; returns whether that changed anything.
    func replaceUserAttributes(of id: InodeID, by attributes: [String: [UInt8]]) throws -> Bool {
        guard try userAttributes(of: id) != attributes else { return false }
        try deleteUserAttributes(of: id)
        for (name, value) in attributes { try writeAttribute(Array(name.utf8), value, of: id) }
        return true
    }

    /// A write removes the privileges that a program file has beyond its user's: capabilities(7).
    package func dropCapabilities(of id: InodeID) throws {
        try deleteAttribute(Array("security.capability".utf8), of: id)
    }
}

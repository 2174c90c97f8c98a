import Glibc
import ItemCatalog
import Locking
import SyncEngine
package import Trees

/// Extended attributes, xattr(7).
extension Volume {
    package func extendedAttribute(_ name: [UInt8], of id: NodeID) throws(VolumeError) -> [UInt8] {
        if let own = OwnAttribute(name) { return try value(of: own, try node(id)) }
        let inode = try inode(id)
        try check(attribute: name)
        let value: [UInt8]?
        do { value = try attribute(name, of: inode) } catch { throw VolumeError(error) }
        if let value { return value }
        if name == Self.label { throw VolumeError(EOPNOTSUPP, "no such security label") }
        throw VolumeError(ENODATA, "no such attribute")
    }

    /// `ls -l` asks for this attribute, one request for each file, until it is told that a file system has no labels
    /// (coreutils 9.1, `getfilecon_cache`). Where SELinux is at work, the kernel does not ask us.
    private static let label = Array("security.selinux".utf8)

    /// As listxattr(2) gives them: each with a NUL behind it.
    func attribute(_ name: [UInt8], of inode: InodeID) throws -> [UInt8]? {
        if !name.starts(with: Array("user.".utf8)), try !mayHavePrivateAttributes(inode) { return nil }
        return try catalog.read { try $0.extendedAttribute(name, of: inode) }
    }

    private func mayHavePrivateAttributes(_ inode: InodeID) throws -> Bool {
        if let known = privateAttributes.withLock({ $0.map { $0.contains(inode) } }) { return known }
        let all = try catalog.read { try $0.inodesWithPrivateAttributes() }
        // Added to, not replaced: another thread may have added to the set meanwhile.
        return privateAttributes.withLock { known in
            known = all.union(known ?? [])
            return all.contains(inode)
        }
    }

    /// Called before the catalog has the attributes, so that no program is told that there are none.
    func willHavePrivateAttributes(_ inode: InodeID) throws {
        _ = try mayHavePrivateAttributes(inode)
        privateAttributes.withLock { _ = $0?.insert(inode) }
    }

    /// Attributes in `trusted.` are for the superuser's eyes only.
    package func extendedAttributeNames(of id: NodeID, isSuperuser: Bool) throws(VolumeError) -> [UInt8] {
        let inode = try inode(id)
        do {
            return try catalog.read { try $0.extendedAttributeNames(of: inode) }
                .filter { OwnAttribute($0) == nil && $0 != FavoriteWish.name }.filter {
                    isSuperuser || !$0.starts(with: Array("trusted.".utf8))
                }
                .flatMap { $0 + [0] }
        } catch {
            throw VolumeError(error)
        }
    }

    package func setExtendedAttribute(
        _ name: [UInt8], to value: [UInt8], of id: NodeID, presence: AttributePresence
    ) throws(VolumeError) {
        let node = try node(id)
        if OwnAttribute(name) == .favorite { return try setFavorite(value, of: node, presence: presence) }
        try OwnAttribute.refuse(name)
        try check(attribute: name)
        do {
            let isPrivate = !name.starts(with: Array("user.".utf8))
            if isPrivate { try willHavePrivateAttributes(node.inode) }
            let set: () throws -> Void = { [self] in
                try catalog.write {
                    if !isPrivate { try $0.requireMayWrite(node.inode) }
                    try $0.setExtendedAttribute(
                        name, to: value, of: node.inode, presence: presence, settle: times.settle)
                }
            }
            if name == Array("security.capability".utf8) {
                try changing(node) { state in
                    try recordWrittenBefore(node, &state)
                    try set()
                    state.hasCapabilities = true
                }
            } else {
                try set()
            }
        } catch {
            throw VolumeError(error)
        }
        engine.changed()
    }

    package func removeExtendedAttribute(_ name: [UInt8], of id: NodeID) throws(VolumeError) {
        let node = try node(id)
        if OwnAttribute(name) == .favorite { return try setFavorite(Array("0".utf8), of: node) }
        try OwnAttribute.refuse(name)
        try check(attribute: name)
        do {
            try catalog.write {
                if name.starts(with: Array("user.".utf8)) { try $0.requireMayWrite(node.inode) }
                try $0.removeExtendedAttribute(name, of: node.inode, settle: times.settle)
            }
        } catch {
            throw VolumeError(error)
        }
        engine.changed()
    }

    /// Attributes that the kernel keeps for itself (`system.`, access lists above all) are not offered.
    private func check(attribute name: [UInt8]) throws(VolumeError) {
        guard let prefix = ["user.", "trusted.", "security."].first(where: { name.starts(with: Array($0.utf8)) }) else {
            throw VolumeError(EOPNOTSUPP, "extended attributes of this namespace are not supported")
        }
        if name.count == prefix.utf8.count { throw VolumeError(EINVAL, "the extended attribute has no name") }
    }
}

import FileProvider
import Glibc
import ItemCatalog
import SyncEngine
import Trees

/// Extended attributes in which Hydrant tells the state of a document or folder of the mount.
///
/// They are computed when a program asks for one by its name, and cost other programs nothing. They are not listed
/// (listxattr(2)), so that programs that copy all attributes of a file (`cp -a`, `rsync -X`, `tar --xattrs`) neither
/// copy them nor fail to set them; they never reach a provider as attributes. Setting or removing them is refused
/// (EPERM), except ``favorite``.
enum OwnAttribute: String {
    /// `placeholder`, `partial` or `downloaded`, and as many of `,modified`, `,pinned` and `,excluded` as hold, in
    /// this order.
    case state = "user.hydrant.state"
    /// The provider's identifier of the item.
    case identifier = "user.hydrant.identifier"
    /// The version that the local bytes are, or are based on; opaque, as the provider gives it.
    case version = "user.hydrant.version"
    /// `1`: the user has marked the item as a favourite in the store, or `0`. Programs may set it: the store gets the
    /// mark. No such attribute where the store has no favourites.
    case favorite = "user.hydrant.favorite"
    /// The store's tags of the item, separated by commas; no such attribute where there are none.
    case tags = "user.hydrant.tags"

    init?(_ name: [UInt8]) {
        guard name.starts(with: Self.prefix) else { return nil }
        self.init(rawValue: String(decoding: name, as: UTF8.self))
    }

    private static let prefix = Array("user.hydrant.".utf8)

    static func refuse(_ name: [UInt8]) throws(VolumeError) {
        guard let own = OwnAttribute(name) else { return }
        throw VolumeError(EPERM, "\(own.rawValue) is set by Hydrant; programs cannot set it")
    }
}

extension Volume {
    /// - Throws: ENODATA for an attribute whose value the provider does not know (yet).
    func value(of attribute: OwnAttribute, _ node: Node) throws(VolumeError) -> [UInt8] {
        let (record, item) = try inspect(node.inode)
        var value: [UInt8]?
        switch attribute {
        case .state:
            do { value = Array(try state(of: record, item).utf8) } catch { throw VolumeError(error) }
        case .identifier: value = item?.identifier.map { Array($0.rawValue.utf8) }
        case .version: value = item?.baseVersion?.content.bytes
        case .favorite:
            guard let item, !item.isExcluded, node.inode != .root else { break }
            do {
                let wish = try catalog.read { try $0.favoriteWish(of: node.inode) }
                // (What is known shows also before the store was asked whether it has favourites.)
                if wish != nil || item.remoteFacts.isFavorite || engine.keepsFavorites {
                    value = Array((wish ?? item.remoteFacts.isFavorite ? "1" : "0").utf8)
                }
            } catch { throw VolumeError(error) }
        case .tags: value = item.map { Array($0.remoteFacts.tags.joined(separator: ",").utf8) }
        }
        guard let value, !value.isEmpty else { throw VolumeError(ENODATA, "no such attribute") }
        return value
    }

    /// Marks an item as a favourite in the store, or takes the mark away (`0`). Allowed also for an item that may not
    /// be changed: the mark is the user's own.
    func setFavorite(
        _ value: [UInt8], of node: Node, presence: AttributePresence = .any
    ) throws(VolumeError) {
        let (_, item) = try inspect(node.inode)
        guard engine.keepsFavorites, let item, !item.isExcluded, node.inode != .root else {
            throw VolumeError(EOPNOTSUPP, "the store keeps no mark of favourites for this item")
        }
        if presence == .mustBeNew { throw VolumeError(EEXIST, "the attribute exists already") }
        let isFavorite: Bool
        switch value {
        case Array("1".utf8): isFavorite = true
        case Array("0".utf8): isFavorite = false
        default: throw VolumeError(EINVAL, "\(OwnAttribute.favorite.rawValue) is 1 or 0")
        }
        do {
            try willHavePrivateAttributes(node.inode)
            try catalog.write { try $0.wishFavorite(isFavorite, of: node.inode, settle: times.settle) }
        } catch { throw VolumeError(error) }
        engine.changed()
    }

    private func state(of record: InodeRecord, _ item: ItemRecord?) throws -> String {
        var words: [String]
        switch record.kind {
        case .document: words = [record.extents.map { $0.isEmpty ? "placeholder" : "partial" } ?? "downloaded"]
        case .folder: words = [record.isEnumerated ? "downloaded" : "placeholder"]
        default: words = ["downloaded"]
        }
        if item?.isModified == true || record.writing == .modified { words.append("modified") }
        if let item, try catalog.read({ try $0.isPinned(item) }) { words.append("pinned") }
        // An inode without an item (a further hard link, a pipe) also lives on this machine only.
        if item?.isExcluded ?? true { words.append("excluded") }
        return words.joined(separator: ",")
    }
}

import FileProvider
import Glibc
import ItemCatalog
import Trees

/// Extended attributes in which Hydrant tells the state of a document or folder of the mount.
///
/// They are computed when a program asks for one by its name, and cost other programs nothing. They are not listed
/// (listxattr(2)), so that programs that copy all attributes of a file (`cp -a`, `rsync -X`, `tar --xattrs`) neither
/// copy them nor fail to set them; setting or removing them is refused (EPERM), and they never reach a provider.
enum OwnAttribute: String {
    /// `placeholder`, `partial` or `downloaded`, and as many of `,modified`, `,pinned` and `,excluded` as hold, in
    /// this order.
    case state = "user.hydrant.state"
    /// The provider's identifier of the item.
    case identifier = "user.hydrant.identifier"
    /// The version that the local bytes are, or are based on; opaque, as the provider gives it.
    case version = "user.hydrant.version"

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
        let value: [UInt8]?
        switch attribute {
        case .state:
            do { value = Array(try state(of: record, item).utf8) } catch { throw VolumeError(error) }
        case .identifier: value = item?.identifier.map { Array($0.rawValue.utf8) }
        case .version: value = item?.baseVersion?.content.bytes
        }
        guard let value, !value.isEmpty else { throw VolumeError(ENODATA, "no such attribute") }
        return value
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

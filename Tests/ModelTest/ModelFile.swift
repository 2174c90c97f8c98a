import Glibc

/// A file of the reference model: an inode in POSIX terms.
///
/// Unchecked: one thread alone uses it (see ``Schedule``).
final class ModelFile: @unchecked Sendable {
    enum Kind: Equatable, Sendable { case document, folder, link }

    let kind: Kind
    /// A document's contents, or a link's target.
    var bytes: [UInt8]
    var mode: UInt32
    /// In whole seconds; nil: the time of the last write.
    var modified: Int64?
    var attributes: [String: [UInt8]] = [:]
    /// For a folder.
    var children: [String: ModelFile] = [:]
    /// The number of its names.
    var names = 0
    /// Whether a program here removed its last name.
    var isUnlinked = false
    /// Whether a program has written and not yet closed or synced it.
    var isUnsaved = false
    /// The size of a file whose bytes are not all available any more.
    var unreadable: Int?
    /// The inode number at the mount.
    var inode: Int64?
    /// The generation, where it is known.
    var generation: Int64?

    init(_ kind: Kind, _ bytes: [UInt8] = [], mode: UInt32) {
        (self.kind, self.bytes, self.mode) = (kind, bytes, mode)
    }

    var isFolder: Bool { kind == .folder }

    /// Every name below, with its path; folders before their contents.
    func walk(_ prefix: String = "") -> [(path: String, file: ModelFile)] {
        children.sorted { $0.key < $1.key }.flatMap { name, file -> [(String, ModelFile)] in
            let path = prefix.isEmpty ? name : prefix + "/" + name
            return [(path, file)] + file.walk(path)
        }
    }
}

/// A generation of an inode.
struct OpenFile: Hashable {
    var inode: Int64
    var generation: Int64
}

/// The result of a call.
enum Answer: Equatable, Sendable, CustomStringConvertible {
    case done
    case bytes([UInt8])
    case names([String])
    case failed(Int32)

    var description: String {
        switch self {
        case .done: "done"
        case .bytes(let bytes): Contents.show(bytes)
        case .names(let names): "\(names)"
        case .failed(let number): "errno \(number) (\(String(cString: strerror(number))))"
        }
    }
}

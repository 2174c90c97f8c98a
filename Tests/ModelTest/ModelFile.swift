import Glibc

/// A file of the reference model: what POSIX calls an inode.
///
/// Unchecked: one thread alone uses it (see ``Schedule``).
final class ModelFile: @unchecked Sendable {
    enum Kind: Equatable, Sendable { case document, folder, link }

    let kind: Kind
    /// Of a document its contents, of a link where it leads.
    var bytes: [UInt8]
    var mode: UInt32
    /// In whole seconds; nil: whenever it was written last.
    var modified: Int64?
    var attributes: [String: [UInt8]] = [:]
    /// Of a folder.
    var children: [String: ModelFile] = [:]
    /// How many names it has.
    var names = 0
    /// A program here took its last name away.
    var isUnlinked = false
    /// Some program has written and not closed or synchronized it yet.
    var isUnsaved = false
    /// It has so many bytes, and not all of them can be had any more.
    var unreadable: Int?
    /// What the mount calls it; learnt from there.
    var inode: Int64?
    /// Which of an inode's bodies of bytes it is, where that can be told.
    var generation: Int64?

    init(_ kind: Kind, _ bytes: [UInt8] = [], mode: UInt32) {
        (self.kind, self.bytes, self.mode) = (kind, bytes, mode)
    }

    var isFolder: Bool { kind == .folder }

    /// Every name below, with its path; folders before what is in them.
    func walk(_ prefix: String = "") -> [(path: String, file: ModelFile)] {
        children.sorted { $0.key < $1.key }.flatMap { name, file -> [(String, ModelFile)] in
            let path = prefix.isEmpty ? name : prefix + "/" + name
            return [(path, file)] + file.walk(path)
        }
    }
}

/// One of an inode's bodies of bytes.
struct OpenFile: Hashable {
    var inode: Int64
    var generation: Int64
}

/// What a call comes to.
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

import FileProvider
import Hashing

/// Temporary names on a server: no user sees them, and what a crash leaves under them is deleted.
enum Leftover: Equatable {
    /// A document during its upload.
    case upload
    /// A folder about to be deleted, and its name before.
    case folder(Filename)

    private static let uploadMark = ".hydrant-upload-"
    private static let folderMark = ".hydrant-removed-"
    /// Followed by the digits and any suffix.
    private static let tryMark = ".hydrant-try-"
    /// Hexadecimal.
    private static let digits = 16

    static func uploadName() -> Filename { Filename(uploadMark + random()) }

    /// For documents that test how a server behaves.
    static func tryName() -> Filename { Filename(tryMark + random()) }

    /// The same name for the same text.
    static func uploadName(for text: String) -> Filename {
        let number = SHA256.hash(data: Array(text.utf8)).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Filename(uploadMark + hexadecimal(number))
    }

    /// Nil: the name would be too long.
    static func folderName(for name: Filename) -> Filename? {
        let aside = Filename(bytes: Array((folderMark + random() + "-").utf8) + name.bytes)
        return aside.problem == nil ? aside : nil
    }

    init?(_ name: Filename) {
        let text = name.bytes
        if text.starts(with: Self.uploadMark.utf8), text.count == Self.uploadMark.utf8.count + Self.digits {
            self = .upload
        } else if text.starts(with: Self.tryMark.utf8), text.count >= Self.tryMark.utf8.count + Self.digits {
            self = .upload
        } else if text.starts(with: Self.folderMark.utf8), text.count > Self.folderMark.utf8.count + Self.digits + 1 {
            self = .folder(Filename(bytes: text.dropFirst(Self.folderMark.utf8.count + Self.digits + 1)))
        } else {
            return nil
        }
    }

    private static func random() -> String { hexadecimal(UInt64.random(in: .min ... .max)) }

    private static func hexadecimal(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: digits - text.count) + text
    }
}

package import FileProvider
import Glibc

/// Which names stay on this machine: what programs make for themselves beside a document (locks, swap files,
/// backups). Only a file that the store has never had is excluded by its name.
package struct Exclusions: Sendable, Codable {
    /// Patterns as fnmatch(3) has them, for one name, not for a path.
    package static let defaults = [
        // Backups: Emacs, vim, nano, gedit, kate.
        "*~", "#*#",
        // Swap and lock files: vim, Emacs, LibreOffice, Microsoft Office.
        ".*.sw?", ".sw?", ".#*", ".~lock.*#", "~$*", "~*.tmp",
        // Files on their way to being a document: GLib, LibreOffice.
        ".goutputstream-*", "lu[0-9]*.tmp",
        // What file systems and desktops leave.
        ".fuse_hidden*", ".nfs*", ".Trash-*", ".DS_Store", "Thumbs.db",
    ]

    /// What file managers call the trash in the topmost folder of a mount: `.Trash-UID`, or `.Trash` with a folder for
    /// each user. Never in a store, whatever the patterns say.
    ///
    /// Source: freedesktop.org Trash specification 1.0, *Trash directories*.
    package static func isTrash(_ name: Filename) -> Bool {
        name.bytes.elementsEqual(".Trash".utf8) || name.bytes.starts(with: ".Trash-".utf8)
    }

    /// Begins the names of what programs make beside an item that is all they see of a domain.
    package static let scopedPrefix = Array(".hydrant-scoped-".utf8)

    package static func isScoped(_ name: Filename) -> Bool { name.bytes.starts(with: scopedPrefix) }

    /// As given.
    package let patterns: [String]

    package init(patterns: [String] = Exclusions.defaults) { self.patterns = patterns }

    package func match(_ name: Filename) -> Bool {
        if Self.isScoped(name) { return true }
        let name = name.bytes.map { CChar(bitPattern: $0) } + [0]
        return patterns.contains { fnmatch($0, name, 0) == 0 }
    }

    /// Whether a program that needs the name `original` for a new version may have put the old one there.
    func isBackup(_ name: Filename, of original: Filename) -> Bool {
        if match(name) { return true }
        let (bytes, first) = (name.bytes, original.bytes)
        func ends(_ suffixes: [String]) -> Bool { suffixes.contains { bytes.suffix($0.utf8.count) == $0.utf8[...] } }
        let isNamedAfter = bytes.starts(with: first) || bytes.starts(with: first.prefix { $0 != UInt8(ascii: ".") })
        return isNamedAfter && ends([".bak", ".BAK", ".old", ".orig", ".backup", ".save"])
    }
}

extension ArraySlice<UInt8> {
    fileprivate static func == (bytes: ArraySlice<UInt8>, text: String.UTF8View.SubSequence) -> Bool {
        bytes.elementsEqual(text)
    }
}

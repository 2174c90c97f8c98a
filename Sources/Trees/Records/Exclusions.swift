package import FileProvider
import Glibc

/// Names that stay on this machine: files that programs make beside a document for themselves (locks, swap files,
/// backups). Only files that the store has never had are excluded by name.
package struct Exclusions: Sendable, Codable {
    /// Patterns as in fnmatch(3), for a name, not a path.
    package static let defaults = [
        // Backups: Emacs, vim, nano, gedit, kate.
        "*~", "#*#",
        // Swap and lock files: vim, Emacs, LibreOffice, Microsoft Office.
        ".*.sw?", ".sw?", ".#*", ".~lock.*#", "~$*", "~*.tmp",
        // Files that will become documents: GLib, LibreOffice.
        ".goutputstream-*", "lu[0-9]*.tmp",
        // Files of file systems and desktops.
        ".fuse_hidden*", ".nfs*", ".Trash-*", ".DS_Store", "Thumbs.db",
    ]

    /// Names of file managers' trash in the topmost folder of a mount: `.Trash-UID`, or `.Trash` with a folder for each
    /// user. Never in a store, whatever the patterns say.
    ///
    /// Source: freedesktop.org Trash specification 1.0, *Trash directories*.
    package static func isTrash(_ name: Filename) -> Bool {
        name.bytes.elementsEqual(".Trash".utf8) || name.bytes.starts(with: ".Trash-".utf8)
    }

    /// Prefix of the names of files that programs make beside an item when they see only this item of a domain.
    package static let scopedPrefix = Array(".hydrant-scoped-".utf8)

    package static func isScoped(_ name: Filename) -> Bool { name.bytes.starts(with: scopedPrefix) }

    /// As given by the caller.
    package let patterns: [String]

    package init(patterns: [String] = Exclusions.defaults) { self.patterns = patterns }

    package func match(_ name: Filename) -> Bool {
        if Self.isScoped(name) { return true }
        let name = name.bytes.map { CChar(bitPattern: $0) } + [0]
        return patterns.contains { fnmatch($0, name, 0) == 0 }
    }

    /// Whether a program that needs the name `original` for a new version may have moved the old version to `name`.
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

import FileProvider
package import ItemCatalog
package import Trees

/// The paths of the folders of a search's results. A row has no path of its own item, so a search that reports a path
/// must notice when a folder above moves.
package struct FolderTable {
    private struct Entry: Equatable {
        var parent: InodeID
        var name: [UInt8]
        var isPinned: Bool
    }
    private var entries: [InodeID: Entry] = [:]
    /// Whether items of this folder belong to the search.
    private var scoped: [InodeID: Bool] = [:]
    private var pinned: [InodeID: Bool] = [:]
    /// Nil: all folders.
    private let scopes: Set<InodeID>?
    /// Whether only items directly in the scopes belong to the search.
    private let isShallow: Bool
    private static let deepest = 4_096

    package init(scopes: Set<InodeID>?, isShallow: Bool = false) {
        self.scopes = scopes
        self.isShallow = isShallow
    }

    private mutating func entry(_ folder: InodeID, _ reader: Catalog.Reader) throws -> Entry? {
        if let known = entries[folder] { return known }
        let new = try Self.read(folder, reader)
        if let new { entries[folder] = new }
        return new
    }

    private static func read(_ folder: InodeID, _ reader: Catalog.Reader) throws -> Entry? {
        let isPinned = try reader.item(of: folder)?.isPinned ?? false
        if folder == .root { return Entry(parent: .root, name: [], isPinned: isPinned) }
        guard let place = try reader.searchPlace(of: folder) else { return nil }
        return Entry(parent: place.folder, name: place.name.bytes, isPinned: isPinned)
    }

    /// Relative to the mount point; nil: in no folder (any more).
    package mutating func path(of name: [UInt8], in folder: InodeID, _ reader: Catalog.Reader) throws -> [UInt8]? {
        var parts = [name]
        var current = folder
        while current != .root {
            guard parts.count < Self.deepest, let entry = try entry(current, reader) else { return nil }
            parts.append(entry.name)
            current = entry.parent
        }
        return Array(parts.reversed().joined(separator: [UInt8(ascii: "/")]))
    }

    /// Whether this belongs to the search.
    package mutating func isWithin(_ row: SearchRow, _ reader: Catalog.Reader) throws -> Bool {
        if row.kind != .folder, scopes?.contains(row.inode) == true { return true }
        return try isWithin(row.folder, reader)
    }

    /// Whether items of this folder belong to the search.
    package mutating func isWithin(_ folder: InodeID, _ reader: Catalog.Reader) throws -> Bool {
        guard let scopes else { return true }
        if isShallow { return scopes.contains(folder) }
        return try climb(folder, \.scoped, reader) { id, _ in scopes.contains(id) }
    }

    /// Whether this folder, or one above it, is pinned.
    package mutating func isPinned(_ folder: InodeID, _ reader: Catalog.Reader) throws -> Bool {
        try climb(folder, \.pinned, reader) { _, entry in entry.isPinned }
    }

    private mutating func climb(
        _ folder: InodeID, _ known: WritableKeyPath<Self, [InodeID: Bool]>, _ reader: Catalog.Reader,
        _ isSo: (InodeID, Entry) -> Bool
    ) throws -> Bool {
        var passed: [InodeID] = []
        var current = folder
        var result = false
        while passed.count < Self.deepest {
            if let value = self[keyPath: known][current] {
                result = value
                break
            }
            guard let entry = try entry(current, reader) else { break }
            passed.append(current)
            if isSo(current, entry) {
                result = true
                break
            }
            if current == .root { break }
            current = entry.parent
        }
        for id in passed { self[keyPath: known][id] = result }
        return result
    }

    package func knows(_ folder: InodeID) -> Bool { entries[folder] != nil }

    /// Looks at a folder that may have changed.
    ///
    /// - Returns: whether it differs from before, so that the paths or pins of items below may have changed.
    package mutating func hasChanged(_ folder: InodeID, _ reader: Catalog.Reader) throws -> Bool {
        guard let old = entries[folder] else { return false }
        return try Self.read(folder, reader) != old
    }

    package mutating func forget() { (entries, scoped, pinned) = ([:], [:], [:]) }
}

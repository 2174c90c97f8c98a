import FileProvider
package import ItemCatalog
package import Trees

/// Where the folders of a search's results are. A path is not in any row of what lies in the folder, so that whoever knows
/// one must learn when a folder above moves.
package struct FolderTable {
    private struct Entry: Equatable {
        var parent: InodeID
        var name: [UInt8]
        var isPinned: Bool
    }
    private var entries: [InodeID: Entry] = [:]
    /// Whether what is in this folder belongs to the search.
    private var scoped: [InodeID: Bool] = [:]
    private var pinned: [InodeID: Bool] = [:]
    /// Nil: everything.
    private let scopes: Set<InodeID>?
    private static let deepest = 4_096

    package init(scopes: Set<InodeID>?) { self.scopes = scopes }

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

    /// Relative to the mount point; nil: it is in no folder (any more).
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

    /// Whether what is in this folder belongs to the search.
    package mutating func isWithin(_ folder: InodeID, _ reader: Catalog.Reader) throws -> Bool {
        guard let scopes else { return true }
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
    /// - Returns: whether it is another one than before, so that whatever is below it may be somewhere else, or be pinned.
    package mutating func hasChanged(_ folder: InodeID, _ reader: Catalog.Reader) throws -> Bool {
        guard let old = entries[folder] else { return false }
        return try Self.read(folder, reader) != old
    }

    package mutating func forget() { (entries, scoped, pinned) = ([:], [:], [:]) }
}

package import FileProvider
import GRDB
package import Trees

/// Persistent identifiers of items: the number of the item's row, which is never reused, and the catalog's own mark, so
/// that another catalog does not mistake one document for another.
extension Catalog.Reader {
    /// Stays the same for as long as the item is known on this machine, whatever its name and bytes.
    package func persistentIdentifier(of item: ItemID) throws -> ItemIdentifier {
        ItemIdentifier("hydrant-\(try mark())-\(item.rawValue)")
    }

    /// Nil when this catalog did not make the identifier, or the item is gone.
    package func item(persistently identifier: ItemIdentifier) throws -> ItemRecord? {
        let parts = identifier.rawValue.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "hydrant", parts[1] == (try mark()), let row = Int64(parts[2]), row > 0,
            String(row) == parts[2]
        else { return nil }
        return try item(ItemID(rawValue: row))
    }

    /// Whether this catalog made the identifier.
    package func hasMade(_ identifier: ItemIdentifier) throws -> Bool {
        identifier.rawValue.hasPrefix("hydrant-\(try mark())-")
    }

    private func mark() throws -> String {
        guard let mark = try note(Catalog.markKey) else { throw CatalogError(.damaged, "the catalog has no mark") }
        return mark
    }
}

extension Catalog {
    static let markKey = "mark"

    /// Sets the mark of a new catalog, or of one older than marks.
    static func setMark(_ db: Database) throws {
        // Merely opening a catalog must not write to it.
        if try Row.fetchOne(db, sql: "SELECT 1 FROM domain WHERE key = ?", arguments: [markKey]) != nil { return }
        let mark = String(UInt64.random(in: .min ... .max), radix: 16)
        try db.execute(sql: "INSERT INTO domain VALUES (?, ?)", arguments: [markKey, mark])
    }
}

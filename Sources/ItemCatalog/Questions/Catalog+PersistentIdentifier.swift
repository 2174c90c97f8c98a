package import FileProvider
import GRDB
package import Trees

/// Identifiers that the catalog keeps for items: the number of the item's row, which is never given out again, and
/// the catalog's own mark, so that another catalog does not take one for another document.
extension Catalog.Reader {
    /// The same for as long as the item is known here, whatever it is called and whichever bytes it has.
    package func persistentIdentifier(of item: ItemID) throws -> ItemIdentifier {
        ItemIdentifier("hydrant-\(try mark())-\(item.rawValue)")
    }

    /// Nil when it is none of this catalog's, or the item is gone.
    package func item(persistently identifier: ItemIdentifier) throws -> ItemRecord? {
        let parts = identifier.rawValue.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "hydrant", parts[1] == (try mark()), let row = Int64(parts[2]), row > 0,
            String(row) == parts[2]
        else { return nil }
        return try item(ItemID(rawValue: row))
    }

    /// Whether it is an identifier that this catalog gave, and no other.
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

    /// Of a new catalog, and of one from before there were marks.
    static func setMark(_ db: Database) throws {
        // A catalog that is only opened is not written.
        if try Row.fetchOne(db, sql: "SELECT 1 FROM domain WHERE key = ?", arguments: [markKey]) != nil { return }
        let mark = String(UInt64.random(in: .min ... .max), radix: 16)
        try db.execute(sql: "INSERT INTO domain VALUES (?, ?)", arguments: [markKey, mark])
    }
}

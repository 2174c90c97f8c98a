import GRDB

/// What is to be known of the domain as a whole at the next mount.
extension Catalog.Reader {
    package func note(_ key: String) throws -> String? {
        try String.fetchOne(db, sql: "SELECT value FROM domain WHERE key = ?", arguments: [key])
    }

    /// Whether the store had anything.
    package func hasConfirmedItems() throws -> Bool {
        try Row.fetchOne(db, sql: "SELECT 1 FROM item WHERE id <> 1 AND base_parent IS NOT NULL LIMIT 1") != nil
    }
}

extension Catalog.Writer {
    package func takeNote(_ key: String, _ value: String) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO domain VALUES (?, ?)", arguments: [key, value])
    }
}

package import FileProvider
import GRDB

/// The remote tree by the provider's words: where the store has what, as it last said.
extension Catalog.Reader {
    private func known(_ condition: String, _ arguments: StatementArguments) throws -> RowCursor {
        let sql = """
            SELECT t.identifier, p.identifier, t.remote_name, t.kind, t.remote_size, t.remote_content
            FROM item t JOIN item p ON p.id = t.remote_parent
            WHERE t.identifier IS NOT NULL AND t.remote_content IS NOT NULL AND \(condition)
            """
        return try Row.fetchCursor(try db.cachedStatement(sql: sql), arguments: arguments)
    }

    private static func item(_ row: Row) -> KnownItem? {
        guard let parent = row[1] as String? else { return nil }
        let kind: Int64 = row[3]
        return KnownItem(
            identifier: ItemIdentifier(row[0] as String), parentIdentifier: ItemIdentifier(parent),
            filename: Filename(bytes: row.bytes(2) ?? []), isFolder: kind == 1, size: kind == 0 ? row[4] : 0,
            contentVersion: ContentVersion(bytes: row.bytes(5) ?? []))
    }

    package func knownItem(_ identifier: ItemIdentifier) throws -> KnownItem? {
        // (A row is the cursor's: it is empty once that is gone.)
        let rows = try known("t.identifier = ?", [identifier.rawValue])
        return try withExtendedLifetime(rows) { try rows.next().flatMap(Self.item) }
    }

    package func knownItems(in folder: ItemIdentifier) throws -> [KnownItem] {
        guard let id = try item(identifiedBy: folder)?.id else { return [] }
        let rows = try known("t.remote_parent = ?", [id.rawValue])
        var items: [KnownItem] = []
        while let row = try rows.next() { if let item = Self.item(row) { items.append(item) } }
        return items
    }

    /// Looks through all documents.
    package func knownDocuments(having versions: Set<ContentVersion>) throws -> [KnownItem] {
        let rows = try known("t.kind = 0", [])
        var items: [KnownItem] = []
        while let row = try rows.next() {
            guard versions.contains(ContentVersion(bytes: row.bytes(5) ?? [])), let item = Self.item(row) else {
                continue
            }
            items.append(item)
        }
        return items
    }
}

package import FileProvider
import Trees

/// The remote tree, as the provider last reported it.
extension Catalog.Reader {
    private static func query(_ condition: String) -> Query {
        Query(
            """
            SELECT t.identifier, p.identifier, t.remote_name, t.kind, t.remote_size, t.remote_content,
                t.remote_metadata
            FROM item t CROSS JOIN item p ON p.id = t.remote_parent
            WHERE t.identifier IS NOT NULL AND t.remote_content IS NOT NULL AND p.identifier IS NOT NULL AND \(condition)
            """)
    }

    private static func item(_ row: Columns) -> KnownItem {
        let kind = row.int(3)
        return KnownItem(
            identifier: ItemIdentifier(row.text(0) ?? ""), parentIdentifier: ItemIdentifier(row.text(1) ?? ""),
            filename: Filename(bytes: row.bytes(2) ?? []), isFolder: kind == 1, size: kind == 0 ? row.int(4) : 0,
            contentVersion: ContentVersion(bytes: row.bytes(5) ?? []),
            metadataVersion: MetadataVersion(bytes: row.bytes(6) ?? []))
    }

    private static let byIdentifier = query("t.identifier = ?")
    private static let byParent = query("\(isRemote(in: "?1")) ORDER BY t.id")
    private static let byName = query("\(isRemote(in: "?1", as: "?2")) ORDER BY t.id")
    private static let byContent = query(
        "t.kind = 0 AND substr(t.remote_content, -8) IS substr(?1, -8) AND t.remote_content = ?1")

    package func knownItem(_ identifier: ItemIdentifier) throws -> KnownItem? {
        try first(Self.byIdentifier) {
            $0.add(identifier.rawValue)
        } _: {
            Self.item($0)
        }
    }

    package func knownItems(in folder: ItemIdentifier) throws -> [KnownItem] {
        guard let id = try item(identifiedBy: folder)?.id else { return [] }
        return try all(Self.byParent) {
            $0.add(id.rawValue)
        } _: {
            Self.item($0)
        }
    }

    package func knownItem(named filename: Filename, in folder: ItemIdentifier) throws -> KnownItem? {
        guard let id = try item(identifiedBy: folder)?.id else { return nil }
        return try first(Self.byName) {
            $0.add(id.rawValue)
            $0.add(filename.bytes)
        } _: {
            Self.item($0)
        }
    }

    package func knownDocuments(having versions: Set<ContentVersion>) throws -> [KnownItem] {
        try versions.flatMap { version in
            try all(Self.byContent) {
                $0.add(version.bytes)
            } _: {
                Self.item($0)
            }
        }
    }
}

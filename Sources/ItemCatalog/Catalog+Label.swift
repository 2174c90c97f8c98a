package import FileProvider
import Foundation
import GRDB

/// What the label of a document's bytes is made of.
package struct LabelFacts: Sendable, Equatable {
    /// Where the document is; its whole path costs a look-up for every folder above.
    package var place: TreePlace?
    package var identifier: ItemIdentifier?
    /// The version that the local change started from.
    package var base: ContentVersion?
    /// The bytes are nowhere but here, so they are to be labelled.
    package var isOnlyHere: Bool
}

extension Catalog.Reader {
    /// Nil: the inode has no item, so that nobody is to miss its bytes.
    package func labelFacts(of inode: InodeID) throws -> LabelFacts? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT local_parent, local_name, identifier, base_content, local_content <> 0 OR excluded <> 0
                FROM item WHERE inode = ?
                """)
        guard let row = try Row.fetchOne(statement, arguments: [inode.rawValue]) else { return nil }
        let identifier = row[2] as String?
        return LabelFacts(
            place: (row[0] as Int64?).map {
                TreePlace(parent: ItemID(rawValue: $0), name: Filename(bytes: row.bytes(1) ?? []))
            },
            identifier: identifier.map { ItemIdentifier($0) }, base: row.bytes(3).map { ContentVersion(bytes: $0) },
            isOnlyHere: row[4] as Bool || identifier == nil)
    }

    /// Documents whose bytes are, or may be, nowhere but here.
    package func documentsOnlyHere() throws -> [InodeRecord] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT \(Self.inodeColumns) FROM inode i JOIN item t ON t.inode = i.id
                WHERE i.kind = 0 AND (t.local_content <> 0 OR t.excluded <> 0 OR t.identifier IS NULL OR i.writing <> 0)
                """
        ).map { Self.inode($0) }
    }
}

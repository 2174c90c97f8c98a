package import FileProvider
import Foundation
import GRDB
package import Trees

/// The facts for the label of a document's bytes.
package struct LabelFacts: Sendable, Equatable {
    /// The document's place; its whole path would cost a look-up for every folder above.
    package var place: TreePlace?
    package var identifier: ItemIdentifier?
    /// The version that the local change started from.
    package var base: ContentVersion?
    /// The bytes exist only on this machine, so they get a label.
    package var isOnlyHere: Bool
}

extension Catalog.Reader {
    private static let factsOfLabel = Query(
        """
        SELECT local_parent, local_name, identifier, base_content, local_content <> 0 OR excluded <> 0
        FROM item WHERE inode = ?
        """)

    /// Nil: the inode has no item, so nobody would miss its bytes.
    package func labelFacts(of inode: InodeID) throws -> LabelFacts? {
        try first(Self.factsOfLabel) {
            $0.add(inode.rawValue)
        } _: { row in
            let identifier = row.text(2)
            return LabelFacts(
                place: row.intOrNil(0).map {
                    TreePlace(parent: ItemID(rawValue: $0), name: Filename(bytes: row.bytes(1) ?? []))
                },
                identifier: identifier.map { ItemIdentifier($0) },
                base: row.bytes(3).map { ContentVersion(bytes: $0) }, isOnlyHere: row.bool(4) || identifier == nil)
        }
    }

    /// Documents whose bytes exist, or may exist, only on this machine.
    package func documentsOnlyHere() throws -> [InodeRecord] {
        try all(
            sql: """
                SELECT \(Self.inodeColumns) FROM item t JOIN inode i ON i.id = t.inode
                WHERE t.inode IN (
                    SELECT inode FROM item WHERE pending = 1
                    UNION SELECT inode FROM item WHERE identifier IS NULL
                    UNION SELECT inode FROM item WHERE excluded <> 0
                    UNION SELECT id FROM inode WHERE writing <> 0)
                AND i.kind = 0 AND (t.local_content <> 0 OR t.excluded <> 0 OR t.identifier IS NULL OR i.writing <> 0)
                """
        ) { _ in
        } _: {
            Self.inode($0)
        }
    }
}

import ContentStore
import ItemCatalog
import Trees

/// How much the documents that are here take of the disk, in bytes.
///
/// The catalog has their sizes, and a file may be nearly all holes: one that is made with `truncate -s 3T` takes nothing, and
/// nothing else has to go for it. The disk is asked about large ones alone: of the others the sizes count.
package struct CacheUse: Sendable {
    /// Of all, without the holes of the large ones; at most 2⁶².
    package private(set) var bytes: Int64
    /// What the catalog says too much of these.
    private var holes: [InodeID: Int64] = [:]

    /// No document is asked about that is smaller: the call costs more than it could tell.
    private static let leastLooked: Int64 = 64 << 10
    /// No more documents than this can have a larger part of the sum each.
    private static let mostLooked: Int64 = 4_096

    init(_ catalog: Catalog, _ store: ContentStore) throws {
        bytes = try catalog.read { try $0.bytesHere() }
        var looked: Set<InodeID> = []
        // A sum that was nearly all holes hides those of smaller documents: then once more, from the sum that is left.
        while true {
            let before = bytes
            let least = max(Self.leastLooked, before / Self.mostLooked)
            let found = try catalog.read { reader in
                try reader.documentsHere(above: least).filter { looked.insert($0.inode).inserted }.map {
                    ($0, try reader.inodeIfPresent($0.inode)?.generation)
                }
            }
            for (document, generation) in found {
                guard let generation,
                    let status = store.status(GenerationID(inode: document.inode.rawValue, number: generation))
                else { continue }
                let empty = max(0, document.here - status.allocated)
                holes[document.inode] = empty
                bytes = max(0, bytes - empty)
            }
            if bytes >= before / 2 || least == Self.leastLooked { return }
        }
    }

    /// How much of ``bytes`` a document takes that has `here` bytes by the catalog.
    func part(of inode: InodeID, _ here: Int64) -> Int64 { max(0, here - (holes[inode] ?? 0)) }
}

extension SyncContext {
    /// How much of the disk the documents take now.
    package func cacheUse() throws -> CacheUse { try CacheUse(catalog, store) }
}

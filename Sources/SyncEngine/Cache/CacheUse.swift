import ContentStore
import ItemCatalog
import Trees

/// How much of the disk the downloaded documents use, in bytes.
///
/// The catalog has their sizes, but a file may be nearly all holes: a file of `truncate -s 3T` uses nothing, and no
/// other document must be evicted for it. So large documents are looked up on the disk; for the others the sizes count.
package struct CacheUse: Sendable {
    /// All documents, without the holes of the large ones; at most 2⁶².
    package private(set) var bytes: Int64
    /// The holes of the large documents, which the catalog counts as bytes.
    private var holes: [InodeID: Int64] = [:]

    /// Smaller documents are not looked up on the disk: not worth the call.
    private static let leastMeasured: Int64 = 64 << 10
    /// At most this many documents can each have a larger share of the sum.
    private static let mostMeasured: Int64 = 4_096

    init(_ catalog: Catalog, _ store: ContentStore) throws {
        bytes = try catalog.read { try $0.bytesHere() }
        var measured: Set<InodeID> = []
        // If the sum was nearly all holes, smaller documents now matter: repeat with the remaining sum.
        while true {
            let before = bytes
            let least = max(Self.leastMeasured, before / Self.mostMeasured)
            let found = try catalog.read { reader in
                try reader.documentsHere(above: least).filter { measured.insert($0.inode).inserted }.map {
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
            if bytes >= before / 2 || least == Self.leastMeasured { return }
        }
    }

    /// A document's share of ``bytes``, if it has `here` bytes in the catalog.
    func part(of inode: InodeID, _ here: Int64) -> Int64 { max(0, here - (holes[inode] ?? 0)) }
}

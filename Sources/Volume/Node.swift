import ContentStore
import FileProvider
import ItemCatalog
import Locking
import SyncEngine
import Synchronization
import Trees

/// An inode that the kernel knows, in one generation.
///
/// Lock order: a node's lock, then the catalog or a content file; never the other way, never two nodes.
final class Node: Sendable {
    let id: NodeID
    private let number: Atomic<Int64>
    let state: AdaptiveMutex<State>

    /// Changes only when a writer's bytes are split from their document; then under the node's lock.
    var inode: InodeID { InodeID(rawValue: number.load(ordering: .acquiring)) }

    /// How the kernel has the file open. Cached and passthrough exclude each other (EIO, design.md).
    enum OpenMode: Equatable {
        case none
        case cached(handles: Int)
        case passthrough(backing: Int32, handles: Int)
    }

    struct State {
        var generation: Int64
        var content: ContentFile?
        var mode = OpenMode.none
        var handles = 0
        var writers = 0
        /// It had a writer once.
        var wasWritten = false
        /// While it is open passthrough, somebody has opened it `OpenedAs.direct`: splice(2) from that goes through the page
        /// cache, of which nothing may be left.
        var wasDirect = false
        /// Of the backing file when its changes were last recorded, while a writer is at work.
        var stamp: BackingStamp?
        /// Somebody had it mapped when its writer came (and held the local file by that, not ours).
        var mayBeMapped = false
        /// The durable mark says `.modified`.
        var isMarkedModified = false
        /// The kernel may have attributes to keep, from before a writer came.
        var isKnownToKernel = false
        /// What programs' writes (through us) made of size and date, until it is recorded.
        var unrecorded: Unrecorded?
        /// Where missing bytes come from; kept, because the item may lose this inode while it is open.
        var target: DownloadTarget?
        /// The catalog's edition (``Catalog/edition``) when that was looked up.
        var targetEdition = -1
        /// The inode has another generation by now; this is how the old one looks to who holds it.
        var frozen: InodeRecord?
        /// Programs here removed its last name: it is theirs, and may be opened again (proc(5), fd). Without, the store
        /// deleted it, and whoever comes by its name is late.
        var isUnlinked = false
        /// Setuid or setgid, which a write by somebody without CAP_FSETID takes away.
        var isSetID = false
        /// capabilities(7), which any write takes away.
        var hasCapabilities = false
        var isPrivileged: Bool { isSetID || hasCapabilities }
        /// Brings a removed document whole, while somebody still has it open.
        var rescue: Task<Void, Never>?

        struct Unrecorded: Equatable {
            var size: Int64
            var modified: FileTime
        }
    }

    init(id: NodeID, inode: InodeID, generation: Int64, isKnownToKernel: Bool = false) {
        self.id = id
        self.number = Atomic(inode.rawValue)
        self.state = AdaptiveMutex(State(generation: generation, isKnownToKernel: isKnownToKernel))
    }

    /// Only ``NodeTable/split(_:to:)``.
    func becomes(_ inode: InodeID) { number.store(inode.rawValue, ordering: .releasing) }
}

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
    private let state: AdaptiveMutex<State>

    /// Changes only when a writer's bytes are split from their document; then under the node's lock.
    var inode: InodeID { InodeID(rawValue: number.load(ordering: .acquiring)) }

    init(id: NodeID, inode: InodeID, generation: Int64, isKnownToKernel: Bool = false) {
        self.id = id
        self.number = Atomic(inode.rawValue)
        self.state = AdaptiveMutex(State(version: .current(generation: generation), isKnownToKernel: isKnownToKernel))
    }

    /// Debug builds look afterwards whether the state is one that there may be.
    func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        // What is committed under the lock is told when it has been given back: telling takes node locks.
        CommitNotices.begin()
        defer { CommitNotices.end() }
        return try state.withLock { state throws(Failure) in
            defer { assert(state.problem == nil, "inode \(inode.rawValue), node \(id.rawValue): \(state.problem!)") }
            return try body(&state)
        }
    }

    /// Only ``NodeTable/split(_:to:)``.
    func becomes(_ inode: InodeID) { number.store(inode.rawValue, ordering: .releasing) }
}

extension Node {
    /// A node is current or past; closed (`open` is nil) or open, cached or passed through; and what is current and open
    /// may be marked as written (`open.writing`).
    struct State {
        var version: Version
        /// Nil: no program has it open.
        var open: Open?
        /// It had a writer once.
        var wasWritten = false
        /// The kernel may have attributes to keep, from before a writer came.
        var isKnownToKernel = false
        /// Programs here removed its last name: it is theirs, and may be opened again (proc(5), fd). Otherwise the store
        /// deleted it, and a program that comes by its name is late.
        var isUnlinked = false
        /// Setuid or setgid, which a write by somebody without CAP_FSETID takes away.
        var isSetID = false
        /// capabilities(7), which any write takes away.
        var hasCapabilities = false
        var isPrivileged: Bool { isSetID || hasCapabilities }
    }

    /// Which generation of its inode a node stands for.
    enum Version {
        case current(generation: Int64)
        /// The inode has another generation by now; this is how programs that have the old one open see it.
        case past(InodeRecord)
    }

    /// What programs have open, and how. There is one until the last handle is closed.
    struct Open {
        var content: ContentFile
        var mode = Mode.cached
        /// None while the first open is under way.
        var handles = 0
        var writing: Writing?
        /// Somebody had it mapped when its writer came (and held the local file by that, not ours).
        var mayBeMapped = false
        /// Where missing bytes come from; kept, because the item may lose this inode while it is open.
        var target: DownloadTarget?
        /// The catalog's edition (``Catalog/edition``) when that was looked up.
        var targetEdition = -1
        /// Brings a removed document whole, while somebody still has it open.
        var rescue: Task<Void, Never>?
    }

    /// How the kernel has the file open. Cached and passthrough exclude each other (the kernel refuses the second with EIO).
    enum Mode: Equatable {
        case cached
        /// - Parameter wasDirect: somebody has opened it `OpenedAs.direct`: splice(2) from that goes through the page cache,
        ///   of which nothing may be left.
        case passthrough(backing: Int32, wasDirect: Bool)
    }

    /// The catalog has a writer's mark on the document, which stays a while after the last of them is gone when
    /// something may still be mapped, or when an open for writing failed.
    struct Writing {
        /// Of the local file when its changes were last recorded.
        var stamp: BackingStamp
        /// Handles that may write.
        var writers = 0
        /// The mark says `.modified`.
        var isMarkedModified = false
        /// Not every change shows to the kernel: one of the writers is not ``OpenTraits/showsChanges``.
        var changesUnseen = false
        /// What the kernel was given to keep since the mark was set; it gives that up by itself at any write.
        var shown: ShownTimes?
        /// The kernel may keep attributes that the row does not have any more, and no write makes it ask again. Stays set
        /// until the last writer's close: a later question may come from another mount than the domain's own.
        var isShownOutdated = false
        /// What programs' writes (through us) made of size and date, until it is recorded.
        var unrecorded: Unrecorded?
        /// Dates that programs have set since their unrecorded writes.
        var dates = SetDates()

        /// A new document that has no byte so far: its times are those of the row, not of the local file.
        func isUntouched(_ now: BackingStamp) -> Bool { stamp == .none && now.size == 0 }

        struct Unrecorded: Equatable {
            var size: Int64
            var modified: FileTime
            /// Of the last write.
            var changed: FileTime
        }
    }

    /// utimensat(2), to be recorded with a writer's changes.
    struct SetDates: Equatable {
        var modified: FileTime?
        var accessed: FileTime?
        var isEmpty: Bool { self == SetDates() }

        /// A write after utimensat(2) gave the document another date.
        func without(laterThan date: FileTime) -> SetDates {
            SetDates(modified: modified == date ? modified : nil, accessed: accessed)
        }

        mutating func add(_ change: AttributeChange) {
            modified = change.modified ?? modified
            accessed = change.accessed ?? accessed
        }
    }

    /// What a writer changes of the attributes.
    struct ShownTimes: Equatable {
        var size: Int64
        var modified: FileTime
        var changed: FileTime

        init(_ record: InodeRecord) { (size, modified, changed) = (record.size, record.modified, record.changed) }
        init(_ written: Volume.Written) {
            (size, modified, changed) = (written.size, written.modified, written.changed)
        }
    }
}

extension Node.State {
    var generation: Int64 {
        get {
            switch version {
            case .current(let generation): generation
            case .past(let record): record.generation
            }
        }
        set {
            switch version {
            case .current: version = .current(generation: newValue)
            case .past(var record):
                record.generation = newValue
                version = .past(record)
            }
        }
    }

    /// How a past generation looks.
    var past: InodeRecord? { if case .past(let record) = version { record } else { nil } }
    var isPast: Bool { if case .past = version { true } else { false } }
    var content: ContentFile? { open?.content }
    var isPassedThrough: Bool { if case .passthrough = open?.mode { true } else { false } }
    var isMarked: Bool { open?.writing != nil }
    var writers: Int { open?.writing?.writers ?? 0 }
    /// Size and times may change without a request that makes the kernel give up what it keeps of them.
    var mayChangeUnseen: Bool {
        guard let open, let writing = open.writing else { return false }
        return writing.writers == 0 || writing.changesUnseen || open.mayBeMapped || isPrivileged
    }

    /// What is wrong with it once the lock is given back.
    var problem: String? {
        guard let open else { return nil }
        if open.handles <= 0 { return "it is open, and has no handles" }
        if writers < 0 || writers > open.handles { return "\(writers) of \(open.handles) handles may write" }
        if isMarked, isPast { return "a past generation is being written" }
        if writers > 0, !wasWritten { return "it has a writer, but is not marked as written" }
        if isPassedThrough, !open.content.isComplete {
            return "it is passed through, and not all of its bytes are here"
        }
        let number = open.content.id.number
        if number != generation { return "it is of generation \(generation), but its file is of generation \(number)" }
        return nil
    }
}

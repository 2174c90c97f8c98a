import CLinux
import FileProvider
import Glibc
import Synchronization

/// Watches the store with inotify(7) on its own thread, and signals each changed folder once per 50 ms.
final class InotifyWatcher: Sendable {
    let inotify: Descriptor
    let store: Store
    let signals: AsyncStream<ChangeSignal>.Continuation
    /// Wakes the thread, to stop or to send a request of ``signal(_:)``.
    private let wake: Descriptor
    private struct Requests {
        var stop = false
        var folders: Set<ItemIdentifier> = []
    }
    private let requests = Mutex(Requests())
    private let rootWatch: Int32

    init(store: Store, signals: AsyncStream<ChangeSignal>.Continuation) throws(SystemError) {
        self.store = store
        self.signals = signals
        inotify = Descriptor(
            try check("inotify_init1") { inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)) })
        wake = Descriptor(try check("eventfd") { eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC)) })
        rootWatch = try WatchTree.addWatch(to: store.root, of: inotify)
    }

    /// Starts the thread; ``stop()`` ends it.
    func start() {
        let loop = Unmanaged.passRetained(WatchLoop(self, rootWatch: rootWatch))
        var thread = pthread_t()
        let failed = pthread_create(
            &thread, nil,
            { loop in
                Unmanaged<WatchLoop>.fromOpaque(loop!).takeRetainedValue().run()
                return nil
            }, loop.toOpaque())
        if failed == 0 {
            pthread_detach(thread)
        } else {
            loop.release()
            signals.finish()
        }
    }

    func stop() {
        requests.withLock { $0.stop = true }
        eventfd_write(wake.number, 1)
        store.watchers.withLock { $0.removeAll { $0 === self } }
    }

    func signal(_ folder: ItemIdentifier) {
        requests.withLock { _ = $0.folders.insert(folder) }
        eventfd_write(wake.number, 1)
    }

    /// Waits for an event, a request, a change of mounts or the timeout; returns the requests. Nil: stop.
    fileprivate func wait(milliseconds: Int32, mounts: InnerMounts) -> Set<ItemIdentifier>? {
        var waiting = [inotify, wake].map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
        if let table = mounts.table { waiting.append(pollfd(fd: table.number, events: Int16(POLLPRI), revents: 0)) }
        poll(&waiting, nfds_t(waiting.count), milliseconds)
        mounts.mayHaveChanged = waiting.dropFirst(2).contains { $0.revents != 0 }
        var count: eventfd_t = 0
        eventfd_read(wake.number, &count)
        return requests.withLock { requests in
            defer { requests.folders = [] }
            return requests.stop ? nil : requests.folders
        }
    }
}

/// The state of the watcher's thread, used by no other thread.
private final class WatchLoop {
    /// Events are gathered for so long, so that a busy folder is signalled once.
    private static let gathering = Duration.milliseconds(50)

    private let watcher: InotifyWatcher
    private let tree: WatchTree
    private var changed: Set<ItemIdentifier> = []
    private var everything = false
    /// The permissions of the topmost folder itself have changed.
    private var rootChanged = false
    private var mustRewatch = false
    /// The time at which to send the gathered events.
    private var due: ContinuousClock.Instant?
    /// The time of the next `.everything`, for folders without a watch.
    private var nextRound: ContinuousClock.Instant?
    private let mounts: InnerMounts
    /// Whether all folders were watched once.
    private var hasAll = false
    /// The most buffers of events read in one go: events may come without end.
    private static let mostReads = 64
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    init(_ watcher: InotifyWatcher, rootWatch: Int32) {
        self.watcher = watcher
        mounts = InnerMounts(below: watcher.store.rootPath)
        tree = WatchTree(store: watcher.store, inotify: watcher.inotify, rootWatch: rootWatch)
    }

    func run() {
        defer { watcher.signals.finish() }
        tree.watchAll()
        while let requested = watcher.wait(milliseconds: untilNext(), mounts: mounts) {
            changed.formUnion(requested)
            readEvents()
            if mounts.hasChanged() {
                everything = true
                mustRewatch = true
            }
            if mustRewatch {
                mustRewatch = false
                tree.watchAll()
            }
            walk()
            if due == nil, everything || !changed.isEmpty { due = .now + Self.gathering }
            if let due, due <= .now { send() }
            standIn()
        }
    }

    /// Large trees take several turns, so that events of watched folders need not wait.
    private func walk() {
        guard tree.isWalking else { return }
        let (new, isComplete) = tree.walk(until: .now + watcher.store.seams.walkTurn)
        changed.formUnion(new)
        guard isComplete else { return }
        // Covers changes so far in folders without a watch.
        everything = true
        if !hasAll { due = .now }
        hasAll = true
    }

    private func untilNext() -> Int32 {
        if tree.isWalking { return 0 }
        guard let next = [due, nextRound].compactMap({ $0 }).min() else { return -1 }
        let left = ContinuousClock.now.duration(to: next)
        return Int32(
            clamping: max(
                0, left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1))
    }

    /// While some folders are not watched, signals all of them every few seconds.
    private func standIn() {
        guard tree.isIncomplete else { return }
        if let nextRound, nextRound > .now { return }
        if nextRound != nil { everything = true }
        nextRound = .now + .seconds(watcher.store.seams.unwatchedInterval)
        if everything, due == nil { due = .now }
    }

    private func send() {
        due = nil
        tree.dropMovedAway()
        var signals = everything ? [ChangeSignal.everything] : changed.map { .folder($0) }
        if rootChanged { signals.append(.item(.rootContainer)) }
        (everything, changed, rootChanged) = (false, [], false)
        for signal in signals {
            if case .dropped = watcher.signals.yield(signal) {
                // Earlier signals are still queued: send one `.everything` when there is room.
                everything = true
                due = .now + .milliseconds(200)
                return
            }
        }
    }

    // MARK: Events

    private func readEvents() {
        watcher.store.seams.beforeEvents?()
        for _ in 0..<Self.mostReads {
            let count = buffer.withUnsafeMutableBytes {
                read(watcher.inotify.number, $0.baseAddress!, $0.count)
            }
            if count <= 0 { return }
            var offset = 0
            while offset < count {
                let header = buffer.withUnsafeBytes { bytes in
                    (0..<4).map { bytes.loadUnaligned(fromByteOffset: offset + $0 * 4, as: UInt32.self) }
                }
                let start = offset + 16
                let end = start + Int(header[3])
                take(
                    watch: Int32(bitPattern: header[0]), mask: header[1],
                    name: Array(buffer[start..<end].prefix { $0 != 0 }))
                offset = end
            }
        }
    }

    private func take(watch: Int32, mask: UInt32, name: [UInt8]) {
        func has(_ flags: Int32...) -> Bool { flags.contains { mask & UInt32(bitPattern: $0) != 0 } }
        if has(IN_Q_OVERFLOW) {
            everything = true
            mustRewatch = true
            return
        }
        if has(IN_UNMOUNT) || has(IN_DELETE_SELF, IN_MOVE_SELF) && watch == tree.rootWatch {
            everything = true
        }
        if has(IN_MOVE_SELF) { tree.noteMoved(watch) }
        if has(IN_IGNORED) { return tree.forget(watch) }
        // A folder's permissions also decide what users may do with its items.
        if name.isEmpty, has(IN_ATTRIB), watcher.store.user != 0, let folder = tree.identifier(of: watch) {
            changed.insert(folder)
            if watch == tree.rootWatch { rootChanged = true }
        }
        guard !name.isEmpty, !OwnName.isOurs(name) else { return }
        if let folder = tree.identifier(of: watch) {
            changed.insert(folder)
            if has(IN_MODIFY, IN_CLOSE_WRITE) {
                watcher.store.sightings.noteWritten(Sightings.Place(folder: folder, name: name))
            }
        }
        // The folder may already have items, made before its watch.
        if has(IN_ISDIR), has(IN_CREATE, IN_MOVED_TO) {
            changed.formUnion(tree.watch(name, in: watch).map { [$0] } ?? [])
        }
    }
}

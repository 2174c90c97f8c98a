import CLinux
import FileProvider
import Glibc
import Logging

/// The folder of each inotify watch. A watch stays with its folder through renames, and so does the identifier here;
/// names are kept only to find the way to new folders. Used by one thread.
final class WatchTree {
    private struct Node {
        var identifier: ItemIdentifier
        var status: FileStatus
        /// Nil for the root.
        var parent: Int32?
        var name: [UInt8]
    }

    let rootWatch: Int32
    /// Whether some folder is not watched because the kernel's limit was reached.
    private(set) var isIncomplete = false
    private let store: Store
    private let inotify: Descriptor
    private var nodes: [Int32: Node]
    private var moved: Set<Int32> = []
    /// Whether another complete walk is due.
    private var isWanted = false
    private var whole: TreeWalk<Int32>?
    /// Walks a new folder.
    private var below: TreeWalk<Int32>?
    /// New folders that wait for their walk; as watches, since not so many could be open at once.
    private var appeared: [Int32] = []
    private var appearedSet: Set<Int32> = []

    init(store: Store, inotify: Descriptor, rootWatch: Int32) {
        self.store = store
        self.inotify = inotify
        self.rootWatch = rootWatch
        nodes = [
            rootWatch: Node(identifier: .rootContainer, status: store.root.status, parent: nil, name: [])
        ]
    }

    func identifier(of watch: Int32) -> ItemIdentifier? { nodes[watch]?.identifier }

    /// inotify_add_watch(2) takes no descriptor; a path through /proc names the folder that was opened without
    /// following a link.
    static func addWatch(to folder: Folder, of inotify: Descriptor) throws(SystemError) -> Int32 {
        let mask =
            IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB | IN_MODIFY
            | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK
        return try check("inotify_add_watch") {
            inotify_add_watch(
                inotify.number, "/proc/self/fd/\(folder.descriptor.number)", UInt32(bitPattern: mask))
        }
    }

    // MARK: Adding watches

    /// Requests a watch for every folder below the root; existing watches stay. ``walk(until:)`` adds them.
    func watchAll() { isWanted = true }

    /// A folder that appeared. ``walk(until:)`` adds the folders in it.
    ///
    /// - Returns: the folder, if it was not watched before.
    func watch(_ name: [UInt8], in parent: Int32) -> ItemIdentifier? {
        guard let above = openFolder(of: parent), let folder = try? store.open(name, in: above),
            store.mayHoldItems(folder),
            let (watch, isNew) = add(folder, named: name, in: parent)
        else { return nil }  // Gone or moved already: another event follows.
        if appearedSet.insert(watch).inserted { appeared.append(watch) }
        return isNew ? folder.identifier : nil
    }

    /// Whether ``walk(until:)`` has more to do.
    var isWalking: Bool { isWanted || whole != nil || below != nil || !appeared.isEmpty }

    /// Continues the walks for a short time, as the thread must also read events. Takes one name of each walk in turn,
    /// so that neither keeps the other waiting.
    ///
    /// - Returns: the new folders that were not watched before; and whether every folder that was there when
    ///   ``watchAll()`` was called now has its watch.
    func walk(until end: ContinuousClock.Instant) -> (new: Set<ItemIdentifier>, hasAll: Bool) {
        var new: Set<ItemIdentifier> = []
        var hasAll = false
        repeat {
            // A walk requested during a walk begins after it: otherwise a walk might never end.
            if whole == nil, isWanted {
                isWanted = false
                whole = begin(at: rootWatch)
            }
            if whole != nil, step(&whole) == nil, whole == nil { hasAll = true }
            if below == nil, let watch = appeared.popLast() {
                appearedSet.remove(watch)
                below = begin(at: watch)
            }
            if below != nil, let folder = step(&below) { new.insert(folder) }
        } while isWalking && .now < end
        return (new, hasAll)
    }

    private func begin(at watch: Int32) -> TreeWalk<Int32> {
        var walk = TreeWalk<Int32>()
        // Another folder may have its name: then events tell its place.
        if let folder = openFolder(of: watch), let node = nodes[watch], folder.status.isSameFile(as: node.status) {
            try? walk.enter(folder, watch, in: store)
        }
        return walk
    }

    /// Looks at the next name; `walk` is nil after the last one.
    ///
    /// - Returns: the folder of that name, if it was not watched before.
    private func step(_ walk: inout TreeWalk<Int32>?) -> ItemIdentifier? {
        guard let step = walk?.next() else {
            walk = nil
            return nil
        }
        // Its folder may have left the store meanwhile, and its watch with it.
        guard nodes[step.mark] != nil, (try? step.folder.status(of: step.name))?.kind == .folder,
            let folder = try? store.open(step.name, in: step.folder), store.mayHoldItems(folder),
            let (watch, isNew) = add(folder, named: step.name, in: step.mark)
        else { return nil }
        try? walk?.enter(folder, watch, in: store)
        return isNew ? folder.identifier : nil
    }

    private func add(_ folder: Folder, named name: [UInt8], in parent: Int32) -> (Int32, isNew: Bool)? {
        do throws(SystemError) {
            if nodes.count >= store.seams.watchLimit {
                throw SystemError(number: ENOSPC, call: "inotify_add_watch")
            }
            let watch = try Self.addWatch(to: folder, of: inotify)
            let isNew = nodes[watch]?.identifier != folder.identifier
            nodes[watch] = Node(
                identifier: folder.identifier, status: folder.status, parent: parent, name: name)
            return (watch, isNew)
        } catch {
            if error.number == ENOSPC || error.number == ENOMEM { noteLimit(at: folder) }
            return nil
        }
    }

    private func noteLimit(at folder: Folder) {
        guard !isIncomplete else { return }
        isIncomplete = true
        store.logger.error(
            """
            the kernel gives no more file watches: raise fs.inotify.max_user_watches (now, some folders \
            are asked again every few seconds instead)
            """, metadata: ["folder": "\(folder.path())", "watched": "\(nodes.count)"])
    }

    // MARK: Removing watches

    func forget(_ watch: Int32) { nodes[watch] = nil }

    /// A folder was moved; whether it is still in the store shows when all its events are read.
    func noteMoved(_ watch: Int32) { moved.insert(watch) }

    /// Ends the watches of folders that were moved out of the store.
    func dropMovedAway() {
        // For each watch, whether its folder is in or below a folder that left. In one pass, as thousands may have
        // moved.
        var isAway: [Int32: Bool] = [:]
        for watch in moved where watch != rootWatch && !isInPlace(watch) { isAway[watch] = true }
        moved = []
        if isAway.isEmpty { return }
        for watch in Array(nodes.keys) {
            var way: [Int32] = []
            var next: Int32? = watch
            while let now = next, isAway[now] == nil, let node = nodes[now], way.count < nodes.count {
                way.append(now)
                next = node.parent
            }
            let answer = next.flatMap { isAway[$0] } ?? false
            for passed in way { isAway[passed] = answer }
        }
        for (lost, isLost) in isAway where isLost {
            inotify_rm_watch(inotify.number, lost)
            nodes[lost] = nil
        }
    }

    private func isInPlace(_ watch: Int32) -> Bool {
        guard let node = nodes[watch], let folder = openFolder(of: watch) else { return false }
        return folder.status.isSameFile(as: node.status)
    }

    private func openFolder(of watch: Int32) -> Folder? {
        guard let components = components(of: watch), components.count <= store.seams.deepest else { return nil }
        return try? store.open(components)
    }

    /// The watches from this one up to the root; shorter if one is unknown.
    private func chain(from watch: Int32) -> [Int32] {
        var chain: [Int32] = []
        var next: Int32? = watch
        while let watch = next, let node = nodes[watch], chain.count < nodes.count {
            chain.append(watch)
            next = node.parent
        }
        return chain
    }

    /// The names from the root down; nil when a parent is unknown.
    private func components(of watch: Int32) -> [[UInt8]]? {
        let chain = chain(from: watch)
        guard chain.last == rootWatch else { return nil }
        return chain.dropLast().reversed().map { nodes[$0]!.name }
    }
}

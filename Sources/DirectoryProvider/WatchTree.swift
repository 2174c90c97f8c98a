import CLinux
import FileProvider
import Glibc
import Logging

/// Which folder each inotify watch stands for. A watch stays with its folder through renames, and so does
/// the identifier here; names are kept only to find the way to new folders. Used by one thread.
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

    init(store: Store, inotify: Descriptor, rootWatch: Int32) {
        self.store = store
        self.inotify = inotify
        self.rootWatch = rootWatch
        nodes = [
            rootWatch: Node(identifier: .rootContainer, status: store.root.status, parent: nil, name: [])
        ]
    }

    func identifier(of watch: Int32) -> ItemIdentifier? { nodes[watch]?.identifier }

    /// inotify_add_watch(2) takes no descriptor; through /proc it takes the folder that was opened without
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

    // MARK: More watches

    /// Every folder below the root; those that have a watch keep it.
    func watchAll() -> Set<ItemIdentifier> { watchBelow(components: [], watch: rootWatch) }

    /// A folder that appeared, and all in it.
    ///
    /// - Returns: the folders that were not watched before.
    func watch(_ name: [UInt8], in parent: Int32) -> Set<ItemIdentifier> {
        guard let above = components(of: parent), let folder = try? store.open(above + [name]),
            let (watch, isNew) = add(folder, named: name, in: parent)
        else { return [] }  // Gone or moved on already; then that is another event.
        var new = watchBelow(components: folder.components, watch: watch)
        if isNew { new.insert(folder.identifier) }
        return new
    }

    private func watchBelow(components: [[UInt8]], watch: Int32) -> Set<ItemIdentifier> {
        var new: Set<ItemIdentifier> = []
        var waiting = [(components, watch)]
        while let (components, watch) = waiting.popLast() {
            guard let folder = try? store.open(components), let names = try? folder.names() else { continue }
            store.sweep(folder, names)
            for name in names {
                guard (try? folder.status(of: name))?.kind == .folder,
                    let child = try? store.open(name, in: folder),
                    let (childWatch, isNew) = add(child, named: name, in: watch)
                else { continue }
                if isNew { new.insert(child.identifier) }
                waiting.append((child.components, childWatch))
            }
        }
        return new
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

    // MARK: Fewer watches

    func forget(_ watch: Int32) { nodes[watch] = nil }

    /// A folder was moved; whether it is still in the store shows when the events about it are all read.
    func noteMoved(_ watch: Int32) { moved.insert(watch) }

    /// Ends the watches of folders that were moved out of the store.
    func dropMovedAway() {
        for watch in moved where watch != rootWatch && !isInPlace(watch) {
            for lost in nodes.keys.filter({ isBelow($0, watch) }) {
                inotify_rm_watch(inotify.number, lost)
                nodes[lost] = nil
            }
        }
        moved = []
    }

    private func isInPlace(_ watch: Int32) -> Bool {
        guard let node = nodes[watch], let components = components(of: watch) else { return false }
        guard let folder = try? store.open(components) else { return false }
        return folder.status.isSameFile(as: node.status)
    }

    private func isBelow(_ watch: Int32, _ ancestor: Int32) -> Bool { chain(from: watch).contains(ancestor) }

    /// The watches from this one up to the root; cut short where one is unknown.
    private func chain(from watch: Int32) -> [Int32] {
        var chain: [Int32] = []
        var next: Int32? = watch
        while let watch = next, let node = nodes[watch], chain.count < nodes.count {
            chain.append(watch)
            next = node.parent
        }
        return chain
    }

    /// The names from the root down; nil when a folder above is no longer known.
    private func components(of watch: Int32) -> [[UInt8]]? {
        let chain = chain(from: watch)
        guard chain.last == rootWatch else { return nil }
        return chain.dropLast().reversed().map { nodes[$0]!.name }
    }
}

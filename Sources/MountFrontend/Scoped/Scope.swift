package import FileProvider
package import ItemCatalog
package import SyncEngine
import Synchronization
package import Volume

/// The one item that a scoped folder shows, and what programs put beside it meanwhile.
///
/// The item is where it is in the domain, under its name. What programs make beside it (the file that is going to be
/// renamed over it, a lock, a backup) lies in the item's real folder under names that no store gets
/// (``Exclusions/scopedPrefix``), so that a rename over the item is one, and is gone when the scope ends. What a database
/// keeps beside itself is a part of it and has its real name.
///
/// A program that puts the item itself aside, before it puts another file in its place, only sees that: the item stays
/// where it is until there is the other file.
package final class Scope: Sendable {
    struct Place {
        var folder: InodeID
        var name: Filename
    }
    private struct State {
        var item: ItemID
        /// Where the item was last.
        var last: Place
        /// The name that a program put it aside under.
        var aside: Filename?
        /// What programs made beside it: the name that they gave it, and where it is.
        var beside: [Filename: Place] = [:]
        var made = 0
        /// What the kernel holds of nodes.
        var references: [NodeID: UInt64] = [:]
        var handles: Set<HandleID> = []
        /// Nodes of folders that names were asked in.
        var folders: [InodeID: NodeID] = [:]
    }

    let volume: Volume
    /// The kernel's view of the domain itself, which must hear of what is done here.
    let kernel: any KernelNotifying
    package let isWritable: Bool
    private let token: String
    private let state: Mutex<State>

    package var workers: Workers { volume.engine.context.workers }
    private var catalog: Catalog { volume.engine.context.catalog }

    /// - Parameters:
    ///   - inode: of the item; it has one, and a name.
    ///   - token: unique; of letters and digits.
    package init(
        volume: Volume, kernel: any KernelNotifying, inode: InodeID, token: String, isWritable: Bool
    ) throws(VolumeError) {
        self.volume = volume
        self.kernel = kernel
        self.token = token
        self.isWritable = isWritable
        do {
            let found = try volume.engine.context.catalog.read { try ($0.item(of: inode), $0.place(of: inode)) }
            guard let item = found.0, let place = found.1 else {
                throw CatalogError(.notFound, "it is no item that could be shown by itself")
            }
            state = Mutex(State(item: item.id, last: Place(folder: place.folder, name: place.name)))
        } catch { throw VolumeError(error) }
    }

    // MARK: The item

    /// Where it is now. Nil: it is gone, or a program is about to put another file in its place.
    func document() throws -> (place: Place, record: InodeRecord)? {
        try state.withLock { state in
            let found = try catalog.read { reader -> (Place, InodeRecord, ItemID)? in
                if let item = try reader.item(state.item), item.local != nil, let inode = item.inode,
                    let place = try reader.place(of: inode), !Exclusions.isScoped(place.name)
                {
                    return (Place(folder: place.folder, name: place.name), try reader.inode(inode), item.id)
                }
                guard let child = try reader.child(of: state.last.folder, named: state.last.name) else { return nil }
                return (state.last, child, try reader.item(of: child.id)?.id ?? state.item)
            }
            guard let (place, record, item) = found else { return nil }
            state.last = place
            state.item = item
            return (place, record)
        }
    }

    /// Its inode; nil: it is gone.
    package var inode: InodeID? { (try? document())??.record.id }

    /// Its name, or the one that it had last.
    package var name: Filename {
        _ = try? document()
        return state.withLock { $0.last.name }
    }

    // MARK: Names

    /// What a name in the scoped folder stands for; nil: nothing.
    func place(of name: Filename) throws -> Place? {
        _ = try document()
        return state.withLock { Self.place(of: name, $0) }
    }

    private static func place(of name: Filename, _ state: State) -> Place? {
        if let aside = state.aside {
            if name == aside { return state.last }
            if name == state.last.name { return nil }
        }
        if name == state.last.name || DatabaseFiles.database(of: name) == state.last.name {
            return Place(folder: state.last.folder, name: name)
        }
        return state.beside[name]
    }

    /// As ``place(of:)``, for one who is going to make it if there is none.
    func placeToMake(_ name: Filename) throws -> Place {
        if let place = try place(of: name) { return place }
        return state.withLock { state in
            if name == state.last.name { return state.last }
            let place = hidden(&state)
            state.beside[name] = place
            return place
        }
    }

    private func hidden(_ state: inout State) -> Place {
        state.made += 1
        let name = Exclusions.scopedPrefix + Array("\(token.prefix(16))-\(state.made)".utf8)
        return Place(folder: state.last.folder, name: Filename(bytes: name))
    }

    /// What had this name is not there any more.
    func vanished(_ name: Filename) {
        state.withLock { state in
            state.beside[name] = nil
            if state.aside == name { state.aside = nil }
        }
    }

    /// Whether this is the item.
    func isDocument(_ name: Filename) throws -> Bool {
        _ = try document()
        return state.withLock { $0.aside ?? $0.last.name } == name
    }

    /// A program gives the item another name; its own name back ends that.
    func putAside(as name: Filename) { state.withLock { $0.aside = name == $0.last.name ? nil : name } }

    /// Before another file gets this name: if it is that of the item, which was put aside, the item makes room.
    func makeRoom(for name: Filename) throws -> Outcome<Void> {
        let (place, aside, isNeeded) = state.withLock { ($0.last, $0.aside, $0.aside != nil && $0.last.name == name) }
        guard isNeeded, let aside else { return .ready(()) }
        let new = state.withLock { hidden(&$0) }
        let folder = try node(of: place.folder)
        let outcome = try volume.rename(place.name, in: folder, to: new.name, in: folder, noReplace: true)
        guard case .ready = outcome else { return outcome }
        state.withLock { state in
            state.aside = nil
            state.beside[aside] = new
        }
        return outcome
    }

    /// All names in the folder, sorted by their bytes, with what they stand for.
    func entries() throws -> [(name: Filename, record: InodeRecord)] {
        var entries: [(name: Filename, record: InodeRecord)] = []
        let document = try document()
        let (last, aside, beside) = state.withLock { ($0.last, $0.aside, $0.beside) }
        if let document { entries.append((aside ?? document.place.name, document.record)) }
        let companions = DatabaseFiles.all(of: last.name).map { ($0, Place(folder: last.folder, name: $0)) }
        try catalog.read { reader in
            for (name, place) in companions + beside.map({ ($0.key, $0.value) }) where name != aside ?? last.name {
                if let record = try reader.child(of: place.folder, named: place.name) { entries.append((name, record)) }
            }
        }
        return entries.sorted { $0.name.bytes.lexicographicallyPrecedes($1.name.bytes) }
    }

    // MARK: What the kernel holds

    /// The node of a folder that names are asked in; held until the scope ends.
    func node(of folder: InodeID) throws -> NodeID {
        if let node = state.withLock({ $0.folders[folder] }) { return node }
        let node = volume.reference(try catalog.read { try $0.inode(folder) }).node
        let isFirst = state.withLock { state in
            if state.folders[folder] != nil { return false }
            state.folders[folder] = node
            return true
        }
        if !isFirst { volume.forget(node, count: 1) }
        return node
    }

    func referenced(_ node: NodeID) { state.withLock { $0.references[node, default: 0] += 1 } }

    func forgotten(_ node: NodeID, _ count: UInt64) {
        let held = state.withLock { state in
            let held = min(count, state.references[node] ?? 0)
            let left = (state.references[node] ?? 0) - held
            state.references[node] = left > 0 ? left : nil
            return held
        }
        if held > 0 { volume.forget(node, count: held) }
    }

    func opened(_ handle: HandleID) { state.withLock { _ = $0.handles.insert(handle) } }

    func closed(_ handle: HandleID) { state.withLock { _ = $0.handles.remove(handle) } }

    // MARK: The end

    /// When nobody asks any more: closes what is open, gives back what the kernel held, and takes away what was made beside
    /// the item.
    package func end() {
        let (handles, references) = state.withLock { state in
            defer { (state.handles, state.references) = ([], [:]) }
            return (state.handles, state.references)
        }
        for handle in handles { volume.close(handle) }
        for (node, count) in references { volume.forget(node, count: count) }
        let beside = state.withLock { state in
            defer { state.beside = [:] }
            return state.beside
        }
        ScopeRemains(volume: volume, kernel: kernel).remove(beside.values.map { ($0.folder, $0.name) })
        for node in state.withLock({ $0.folders.values }) { volume.forget(node, count: 1) }
    }
}

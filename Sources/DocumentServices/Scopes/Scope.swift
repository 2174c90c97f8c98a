import FileProvider
import Glibc
import ItemCatalog
import SyncEngine
import Synchronization
import Trees
import Volume

/// The one item that a scoped folder shows, and the files that programs create beside it.
///
/// The item stays at its place in the domain, under its name. Files that programs create beside it (a new version to
/// rename over the item, a lock, a backup) are stored in the item's real folder under names that are never uploaded
/// (``Exclusions/scopedPrefix``): so a rename over the item is a real rename. They are removed when the scope ends. The
/// files that a database keeps beside itself belong to it and have their real names.
///
/// If a program renames the item before it puts another file in its place, only this scope shows the new name: the item
/// stays in place until the other file exists.
final class Scope: Sendable {
    struct Place: Equatable {
        var folder: InodeID
        var name: Filename
    }
    private struct Copy {
        var place: Place
        var original: InodeRecord

        func isOf(_ record: InodeRecord) -> Bool {
            (original.id, original.generation, original.size, original.modified)
                == (record.id, record.generation, record.size, record.modified)
        }
    }
    private struct State {
        var item: ItemID
        /// The item's last known place.
        var last: Place
        /// All names that the item had in this scope; a program may still use an earlier one.
        var names: Set<Filename>
        /// The name that a program moved the item aside to.
        var aside: Filename?
        /// Files that programs created beside the item: the names in the scope, and the real places.
        var beside: [Filename: Place] = [:]
        var made = 0
        /// Handles that write the item's new contents, and the places of the old contents until the handle is closed.
        var unfinished: [HandleID: Place] = [:]
        /// A copy of the item's contents, for a program that is about to replace them.
        var copy: Copy?
        var hasEnded = false
        /// The kernel's lookup counts of nodes.
        var references: [NodeID: UInt64] = [:]
        var handles: Set<HandleID> = []
        /// Nodes of folders that names were looked up in.
        var folders: [InodeID: NodeID] = [:]
    }

    let volume: Volume
    /// The kernel connection of the domain's own mount, which must hear about changes made here.
    let kernel: any KernelNotifying
    let isWritable: Bool
    private let token: String
    private let state: Mutex<State>
    /// Held from the resolution of a name until its use is over. libfuse threads block on this lock: copying, and
    /// waiting for the kernel, happen outside of it.
    private let naming = Mutex(())

    var workers: Workers { volume.engine.mount.workers }

    private func translating<T>(_ body: () throws -> T) throws(VolumeError) -> T {
        do { return try body() } catch { throw VolumeError(error) }
    }

    private func read<T>(_ body: (Catalog.Reader) throws -> T) throws(VolumeError) -> T {
        try translating { try volume.engine.mount.catalog.read(body) }
    }

    /// - Parameters:
    ///   - inode: the item's inode; the item has a name.
    ///   - token: unique; only letters and digits.
    init(
        volume: Volume, kernel: any KernelNotifying, inode: InodeID, token: String, isWritable: Bool
    ) throws(VolumeError) {
        self.volume = volume
        self.kernel = kernel
        self.token = token
        self.isWritable = isWritable
        do {
            let found = try volume.engine.mount.catalog.read { try ($0.item(of: inode), $0.place(of: inode)) }
            guard let item = found.0, let place = found.1 else {
                throw CatalogError(.notFound, "this item cannot be in a scoped folder")
            }
            let last = Place(folder: place.folder, name: place.name)
            state = Mutex(State(item: item.id, last: last, names: [place.name]))
        } catch { throw VolumeError(error) }
    }

    // MARK: The item

    /// The item's current place; nil: the item is gone.
    func document() throws(VolumeError) -> (place: Place, record: InodeRecord)? {
        try state.withLock { state throws(VolumeError) in
            let found = try read { reader -> (Place, InodeRecord)? in
                guard let item = try reader.item(state.item), item.local != nil, let inode = item.inode,
                    let place = try reader.place(of: inode)
                else { return nil }
                return (Place(folder: place.folder, name: place.name), try reader.inode(inode))
            }
            guard let (place, record) = found else { return nil }
            state.last = place
            state.names.insert(place.name)
            return (place, record)
        }
    }

    /// A program here has put another file in the item's place: that file is the item from now on.
    func adopt(_ name: Filename) throws(VolumeError) {
        guard let place = try place(of: name) else { return }
        let item = try read { reader in
            try reader.child(of: place.folder, named: place.name).flatMap { try reader.item(of: $0.id) }
        }
        state.withLock { state in if let item, place == state.last { state.item = item.id } }
    }

    /// The item's name, or its last one.
    var name: Filename {
        _ = try? document()
        return state.withLock { $0.last.name }
    }

    // MARK: Names

    /// Runs `body` while no name can change its meaning.
    func resolving<Value>(_ body: () throws(VolumeError) -> Value) throws(VolumeError) -> Value {
        var result: Result<Value, VolumeError>?
        naming.withLock { _ in result = Result(catching: body) }
        return try result!.get()
    }

    /// The real place of a name in the scoped folder; nil: there is no such file.
    func place(of name: Filename) throws(VolumeError) -> Place? {
        let document = try document()
        let (place, last) = state.withLock { (Self.place(of: name, $0), $0.last) }
        // (The item is gone: the file that has its name now is another one.)
        if let place { return place == last && document == nil ? nil : place }
        guard document?.record.kind == .document, DatabaseFiles.database(of: name) == last.name else { return nil }
        // A database's own files belong to it; an uploaded document of such a name does not.
        let there = try read { reader in
            try reader.child(of: last.folder, named: name).map { try reader.item(of: $0.id)?.isExcluded ?? true }
        }
        let isOwn = try translating { try there ?? volume.isSidecar(name, in: last.folder) }
        return isOwn ? Place(folder: last.folder, name: name) : nil
    }

    private static func place(of name: Filename, _ state: State) -> Place? {
        if let aside = state.aside, name == aside { return state.last }
        if let place = state.beside[name] { return place }
        return state.aside == nil && state.names.contains(name) ? state.last : nil
    }

    /// Like ``place(of:)``, but reserves a place for a new file if there is none.
    func placeToMake(_ name: Filename) throws(VolumeError) -> Place {
        if let place = try place(of: name) { return place }
        let last = state.withLock { $0.last }
        let isFree = try read { try $0.child(of: last.folder, named: last.name) } == nil
        return state.withLock { state in
            let isItem = state.names.contains(name)
            if isItem && isFree { return state.last }
            var place = hidden(&state)
            // The item was deleted, and another document has its name: use a name under which the saved file is kept.
            if isItem { place.name = ScopeRemains.oldName(of: name, "\(token.prefix(16))-\(state.made)") }
            state.beside[name] = place
            return place
        }
    }

    private func hidden(_ state: inout State) -> Place {
        state.made += 1
        let name = Exclusions.scopedPrefix + Array("\(token.prefix(16))-\(state.made)".utf8)
        return Place(folder: state.last.folder, name: Filename(bytes: name))
    }

    /// The file of this name is gone.
    func vanished(_ name: Filename) {
        state.withLock { state in
            state.beside[name] = nil
            if state.aside == name { state.aside = nil }
        }
    }

    /// The path from the domain's root.
    func path(of name: Filename) throws(VolumeError) -> [Filename] {
        try resolving { () throws(VolumeError) in
            let place = try placeToMake(name)
            guard let folder = try read({ try $0.path(of: place.folder) }) else {
                throw VolumeError(ENOENT, "its folder is gone")
            }
            return folder + [place.name]
        }
    }

    /// Whether the name means the item.
    func isDocument(_ name: Filename) throws(VolumeError) -> Bool {
        _ = try document()
        return state.withLock { state in
            if let aside = state.aside { return name == aside }
            return state.names.contains(name) && state.beside[name] == nil
        }
    }

    /// Whether this is a name of the item, even if the item is moved aside or gone.
    func isOwnName(_ name: Filename) -> Bool { state.withLock { $0.names.contains(name) && $0.beside[name] == nil } }

    /// Whether a folder was created beside the item, or lies in such a folder.
    func isBeside(_ folder: InodeID) throws(VolumeError) -> Bool {
        try read { reader in
            var current = folder
            while let place = try reader.place(of: current) {
                if Exclusions.isScoped(place.name) { return true }
                current = place.folder
            }
            return false
        }
    }

    // MARK: Moving aside

    /// A program renames the item; renaming it back ends that.
    func putAside(as name: Filename) {
        state.withLock { $0.aside = $0.names.contains(name) ? nil : name }
    }

    /// Keeps the item's contents before another file gets the item's name, if a program has moved the item aside: a
    /// copy of the contents becomes a file beside the item, under the program's name for it. The item itself stays in
    /// place.
    ///
    /// - Returns: the place of the old contents; nil: the item was not moved aside, or is gone. Call this within
    ///   ``resolving(_:)``; long work is done outside, in the returned wait.
    func keepOld(for name: Filename) throws(VolumeError) -> Outcome<Place?> {
        let (aside, isNeeded) = state.withLock { ($0.aside, $0.aside != nil && $0.names.contains(name)) }
        guard isNeeded, let aside else { return .ready(nil) }
        guard let (place, record) = try document() else {
            state.withLock { $0.aside = nil }
            return .ready(nil)
        }
        guard record.kind == .document else { throw VolumeError(EPERM, "a folder cannot be replaced here") }
        let now = try volume.inspect(record.id).0
        if now.extents != nil {
            let (engine, inode) = (volume.engine, record.id)
            return .wait(Wait { _ = try await engine.download(inode) })
        }
        guard let copy = state.withLock({ $0.copy }), copy.isOf(now), copy.place.folder == place.folder else {
            return .wait(Wait { [self] in try copyContents(now, in: place.folder) })
        }
        let old = state.withLock { state in
            state.made += 1
            return Place(
                folder: place.folder,
                name: ScopeRemains.oldName(of: place.name, "\(token.prefix(16))-\(state.made)"))
        }
        let folder = try node(of: old.folder)
        try ScopeCopy.now(volume.rename(copy.place.name, in: folder, to: old.name, in: folder, noReplace: true))
        kernel.invalidateEntry(in: folder, name: copy.place.name)
        kernel.invalidateEntry(in: folder, name: old.name)
        state.withLock { state in
            state.copy = nil
            state.aside = nil
            state.beside[aside] = old
        }
        return .ready(old)
    }

    /// Copies the item's contents to a file beside it. Blocks until the copy is complete.
    private func copyContents(_ record: InodeRecord, in folder: InodeID) throws {
        let new = Copy(place: state.withLock { Place(folder: folder, name: hidden(&$0).name) }, original: record)
        try ScopeCopy(volume).make(record, at: new.place.name, in: try node(of: folder))
        let useless = state.withLock { state in
            if state.hasEnded { return new.place as Place? }
            defer { state.copy = new }
            return state.copy?.place
        }
        if let useless { ScopeRemains(volume: volume, kernel: kernel).remove([(useless.folder, useless.name)]) }
    }

    /// An unused name in the item's folder.
    func freshName() -> Filename { state.withLock { hidden(&$0).name } }

    /// The item's old contents are removed only when the new ones are complete.
    func began(_ handle: HandleID, replacing old: Place) { state.withLock { $0.unfinished[handle] = old } }

    /// The writing program was killed: the old contents stay.
    func cutOff(_ handle: HandleID) { state.withLock { $0.unfinished[handle] = nil } }

    func isUnfinished(_ handle: HandleID) -> Bool { state.withLock { $0.unfinished[handle] != nil } }

    /// All entries of the scoped folder, sorted by the bytes of their names.
    func entries() throws(VolumeError) -> [(name: Filename, record: InodeRecord)] {
        var entries: [(name: Filename, record: InodeRecord)] = []
        let document = try document()
        let (last, aside, beside) = state.withLock { ($0.last, $0.aside, $0.beside) }
        if let document { entries.append((aside ?? document.place.name, document.record)) }
        var others = beside
        for name in DatabaseFiles.all(of: last.name) where beside[name] == nil { others[name] = try place(of: name) }
        try read { reader in
            for (name, place) in others where name != aside ?? last.name {
                if let record = try reader.child(of: place.folder, named: place.name) { entries.append((name, record)) }
            }
        }
        return entries.sorted { $0.name.bytes.lexicographicallyPrecedes($1.name.bytes) }
    }

    // MARK: References of the kernel

    /// The node of a folder, for lookups; referenced until the scope ends.
    func node(of folder: InodeID) throws(VolumeError) -> NodeID {
        if let node = state.withLock({ $0.folders[folder] }) { return node }
        let node = volume.reference(try read { try $0.inode(folder) }).node
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

    func closed(_ handle: HandleID) {
        let old = state.withLock { state in
            state.handles.remove(handle)
            return state.unfinished.removeValue(forKey: handle)
        }
        if let old { naming.withLock { _ in finished(old) } }
    }

    /// The new contents are complete: the old ones become an ordinary backup. Call this within ``resolving(_:)``.
    func finished(_ old: Place) {
        guard let name = state.withLock({ $0.beside.first { $0.value == old }?.key }) else { return }
        let new = state.withLock { hidden(&$0) }
        do {
            let folder = try node(of: old.folder)
            guard case .ready = try volume.rename(old.name, in: folder, to: new.name, in: folder, noReplace: true)
            else { return }
            kernel.invalidateEntry(in: folder, name: old.name)
            state.withLock { if $0.beside[name] == old { $0.beside[name] = new } }
        } catch {
            // Then the old contents are kept, which loses nothing.
        }
    }

    // MARK: The end

    /// Call this when no requests come any more: closes open files, drops the kernel's references, and removes the
    /// files beside the item. If new contents of the item are incomplete, the old ones are kept beside it.
    func end() {
        let (handles, references) = state.withLock { state in
            defer { (state.handles, state.references, state.unfinished) = ([], [:], [:]) }
            return (state.handles, state.references)
        }
        for handle in handles { volume.close(handle) }
        for (node, count) in references { volume.forget(node, count: count) }
        let beside = state.withLock { state in
            defer { (state.beside, state.copy, state.hasEnded) = ([:], nil, true) }
            return Array(state.beside.values) + [state.copy?.place].compactMap { $0 }
        }
        ScopeRemains(volume: volume, kernel: kernel).remove(beside.map { ($0.folder, $0.name) })
        for node in state.withLock({ $0.folders.values }) { volume.forget(node, count: 1) }
    }
}

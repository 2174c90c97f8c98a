import FileProvider
import Glibc
import ItemCatalog
import SyncEngine
import Synchronization
import Trees
import Volume

/// The one item that a scoped folder shows, and what programs put beside it meanwhile.
///
/// The item is where it is in the domain, under its name. What programs make beside it (the file that is going to be
/// renamed over it, a lock, a backup) lies in the item's real folder under names that no store gets
/// (``Exclusions/scopedPrefix``), so that a rename over the item is one, and is gone when the scope ends. What a database
/// keeps beside itself is a part of it and has its real name.
///
/// A program that puts the item itself aside, before it puts another file in its place, only sees that: the item stays
/// where it is until there is the other file.
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
        /// Where the item was last.
        var last: Place
        /// What it has been called in this scope: whoever knows it by an earlier name still means it.
        var names: Set<Filename>
        /// The name that a program put it aside under.
        var aside: Filename?
        /// What programs made beside it: the name that they gave it, and where it is.
        var beside: [Filename: Place] = [:]
        var made = 0
        /// Handles through which the item gets new contents, and where its old ones are until that is done.
        var unfinished: [HandleID: Place] = [:]
        /// The item's contents, copied for a program that is about to replace them.
        var copy: Copy?
        var hasEnded = false
        /// What the kernel holds of nodes.
        var references: [NodeID: UInt64] = [:]
        var handles: Set<HandleID> = []
        /// Nodes of folders that names were asked in.
        var folders: [InodeID: NodeID] = [:]
    }

    let volume: Volume
    /// The kernel's view of the domain itself, which must hear of what is done here.
    let kernel: any KernelNotifying
    let isWritable: Bool
    private let token: String
    private let state: Mutex<State>
    /// Held from asking what a name stands for until that was used, by what the libfuse threads may block on and no more:
    /// copies are made, and the kernel is waited for, outside.
    private let naming = Mutex(())

    var workers: Workers { volume.engine.context.workers }

    private func translating<T>(_ body: () throws -> T) throws(VolumeError) -> T {
        do { return try body() } catch { throw VolumeError(error) }
    }

    private func read<T>(_ body: (Catalog.Reader) throws -> T) throws(VolumeError) -> T {
        try translating { try volume.engine.context.catalog.read(body) }
    }

    /// - Parameters:
    ///   - inode: of the item; it has one, and a name.
    ///   - token: unique; of letters and digits.
    init(
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
            let last = Place(folder: place.folder, name: place.name)
            state = Mutex(State(item: item.id, last: last, names: [place.name]))
        } catch { throw VolumeError(error) }
    }

    // MARK: The item

    /// Where it is now. Nil: it is gone.
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

    /// A program here made another file in its place: from now on that is it.
    func adopt(_ name: Filename) throws(VolumeError) {
        guard let place = try place(of: name) else { return }
        let item = try read { reader in
            try reader.child(of: place.folder, named: place.name).flatMap { try reader.item(of: $0.id) }
        }
        state.withLock { state in if let item, place == state.last { state.item = item.id } }
    }

    /// Its name, or the one that it had last.
    var name: Filename {
        _ = try? document()
        return state.withLock { $0.last.name }
    }

    // MARK: Names

    /// For whoever asks what names stand for: that does not change before it is done.
    func resolving<Value>(_ body: () throws(VolumeError) -> Value) throws(VolumeError) -> Value {
        var result: Result<Value, VolumeError>?
        naming.withLock { _ in result = Result(catching: body) }
        return try result!.get()
    }

    /// What a name in the scoped folder stands for; nil: nothing.
    func place(of name: Filename) throws(VolumeError) -> Place? {
        let document = try document()
        let (place, last) = state.withLock { (Self.place(of: name, $0), $0.last) }
        // (Gone: what has its name now is somebody else's.)
        if let place { return place == last && document == nil ? nil : place }
        guard document?.record.kind == .document, DatabaseFiles.database(of: name) == last.name else { return nil }
        // What a database keeps beside itself is a part of it; a document of the same name is not.
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

    /// As ``place(of:)``, for one who is going to make it if there is none.
    func placeToMake(_ name: Filename) throws(VolumeError) -> Place {
        if let place = try place(of: name) { return place }
        let last = state.withLock { $0.last }
        let isFree = try read { try $0.child(of: last.folder, named: last.name) } == nil
        return state.withLock { state in
            let isItem = state.names.contains(name)
            if isItem && isFree { return state.last }
            var place = hidden(&state)
            // The document was deleted, and another one has its name: what is saved is not lost.
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

    /// What had this name is not there any more.
    func vanished(_ name: Filename) {
        state.withLock { state in
            state.beside[name] = nil
            if state.aside == name { state.aside = nil }
        }
    }

    /// From the domain's root.
    func path(of name: Filename) throws(VolumeError) -> [Filename] {
        try resolving { () throws(VolumeError) in
            let place = try placeToMake(name)
            guard let folder = try read({ try $0.path(of: place.folder) }) else {
                throw VolumeError(ENOENT, "its folder is gone")
            }
            return folder + [place.name]
        }
    }

    /// Whether this is the item.
    func isDocument(_ name: Filename) throws(VolumeError) -> Bool {
        _ = try document()
        return state.withLock { state in
            if let aside = state.aside { return name == aside }
            return state.names.contains(name) && state.beside[name] == nil
        }
    }

    /// Whether this is what the item would be called.
    func isOwnName(_ name: Filename) -> Bool { state.withLock { $0.names.contains(name) && $0.beside[name] == nil } }

    /// Whether a folder is one that programs made beside the item, or in one of those.
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

    // MARK: Put aside

    /// A program gives the item another name; its own name back ends that.
    func putAside(as name: Filename) {
        state.withLock { $0.aside = $0.names.contains(name) ? nil : name }
    }

    /// Before another file gets the item's name, which a program has put aside: its contents as they are now become a file
    /// beside it, under the name that the program gave it. The item itself stays where it is.
    ///
    /// - Returns: where the old contents are; nil: it was not put aside, or is gone. Within ``resolving(_:)``; what takes long
    ///   is done in the wait, outside.
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

    /// Copies the item's contents beside it. Blocks for as long as that takes.
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

    /// A name in the item's folder that nothing has.
    func freshName() -> Filename { state.withLock { hidden(&$0).name } }

    /// The item's old contents are given up only when the new ones are written.
    func began(_ handle: HandleID, replacing old: Place) { state.withLock { $0.unfinished[handle] = old } }

    /// Whoever writes them was killed in the middle of it: the old ones stay.
    func cutOff(_ handle: HandleID) { state.withLock { $0.unfinished[handle] = nil } }

    func isUnfinished(_ handle: HandleID) -> Bool { state.withLock { $0.unfinished[handle] != nil } }

    /// All names in the folder, sorted by their bytes, with what they stand for.
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

    // MARK: What the kernel holds

    /// The node of a folder that names are asked in; held until the scope ends.
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

    /// The old contents are a program's backup like any other now. Within ``resolving(_:)``.
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
            // Then it is kept, which is too much rather than too little.
        }
    }

    // MARK: The end

    /// When nobody asks any more: closes what is open, gives back what the kernel held, and takes away what was made beside
    /// the item. Old contents of the item, whose new ones were not written to their end, are kept beside it.
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

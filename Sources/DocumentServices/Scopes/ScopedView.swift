import FileProvider
import Glibc
import ItemCatalog
import MountFrontend
import Synchronization
import Trees
import Volume

/// Shows one item, and nothing else, in a scoped folder. A sandbox gets this view of a domain.
///
/// The view uses the domain's volume and nodes; only names in the root folder have another meaning. The kernel caches
/// nothing here, because nobody would invalidate its cache: files are opened for direct I/O (mmap works), and entries
/// and attributes have no timeout. The kernel's cache of the domain's own mount is invalidated for every change made
/// here.
final class ScopedView: MountView {
    private struct Unsettled {
        /// Nodes that were invalidated in the kernel, with the number of the last change.
        var nodes: [NodeID: UInt64] = [:]
        var changes: UInt64 = 0
    }

    let volume: Volume
    let isCached = false
    let scope: Scope
    private let kernel: any KernelNotifying
    /// The attributes of the root folder.
    private let root: NodeAttributes
    private let unsettled = Mutex(Unsettled())

    /// Seconds that a program here waits, at most, until programs at the domain's mount see its change; a program there
    /// may hold up the kernel for longer.
    private static let patience = 0.1

    init(scope: Scope) throws(VolumeError) {
        self.scope = scope
        volume = scope.volume
        kernel = scope.kernel
        var root = try volume.attributes(of: .root)
        root.record.mode = scope.isWritable ? 0o700 : 0o500
        root.record.capabilities = .all
        root.record.linkCount = 2
        (root.record.uid, root.record.gid) = (geteuid(), getegid())
        let now = FileTime.now
        (root.record.accessed, root.record.modified, root.record.changed) = (now, now, now)
        self.root = root
    }

    // MARK: Resolving names

    private struct Target {
        var folder: NodeID
        var name: Filename
    }

    /// In the root folder, the scope resolves the name; elsewhere the name is real. Nil: there is no such file.
    private func targetIfAny(
        _ name: Filename, in folder: NodeID, toMake: Bool = false
    ) throws(VolumeError) -> Target? {
        guard folder == .root else { return Target(folder: folder, name: name) }
        if let problem = name.problem { throw VolumeError(EINVAL, problem) }
        guard let place = try toMake ? scope.placeToMake(name) : scope.place(of: name) else { return nil }
        return Target(folder: try scope.node(of: place.folder), name: place.name)
    }

    private func target(_ name: Filename, in folder: NodeID, toMake: Bool = false) throws(VolumeError) -> Target {
        guard let target = try targetIfAny(name, in: folder, toMake: toMake) else {
            throw VolumeError(ENOENT, "no such file or directory")
        }
        return target
    }

    /// Whether this is a name of the item, even if the item is moved aside or gone.
    private func isOwn(_ name: Filename, in folder: NodeID) -> Bool { folder == .root && scope.isOwnName(name) }

    /// Whether entries of this folder belong to this scope only, and are removed with it.
    private func isBeside(_ name: Filename, in folder: NodeID) throws(VolumeError) -> Bool {
        if folder == .root { return try !scope.isDocument(name) && !isOwn(name, in: folder) }
        return try scope.isBeside(volume.attributes(of: folder).record.id)
    }

    // MARK: Invalidating the domain's mount

    private func changed(_ target: Target) {
        kernel.invalidateEntry(in: target.folder, name: target.name)
        noteUnsettled(target.folder)
    }

    private func changed(_ node: NodeID, contents: Bool) {
        if contents { kernel.invalidateContents(of: node) } else { kernel.invalidateAttributes(of: node) }
        noteUnsettled(node)
    }

    private func noteUnsettled(_ node: NodeID) {
        unsettled.withLock { unsettled in
            unsettled.changes += 1
            unsettled.nodes[node] = unsettled.changes
        }
    }

    func settling() -> (@Sendable () async -> Void)? {
        let nodes = unsettled.withLock { $0.nodes }
        if nodes.isEmpty { return nil }
        return { [self] in
            let end = ContinuousClock.now + .seconds(Self.patience)
            for (node, change) in nodes {
                let left = ContinuousClock.now.duration(to: end) / .seconds(1)
                if left > 0 { _ = await kernel.settle(node, seconds: left) }
                unsettled.withLock { if $0.nodes[node] == change { $0.nodes[node] = nil } }
            }
        }
    }

    func wasWritten(_ id: NodeID) { kernel.invalidateContents(of: id) }

    // MARK: Names

    func lookUp(_ name: Filename, in folder: NodeID) throws(VolumeError) -> Outcome<Lookup?> {
        try scope.resolving { () throws(VolumeError) in
            guard let target = try targetIfAny(name, in: folder) else { return .ready(nil) }
            let outcome = try volume.lookUp(target.name, in: target.folder)
            if case .ready(let found?) = outcome { scope.referenced(found.node) }
            return outcome
        }
    }

    /// File handles would bypass the scope's names.
    func lookUp(_ id: NodeID) throws(VolumeError) -> Outcome<Lookup?> {
        throw VolumeError(ESTALE, "a scoped folder has no file handles")
    }

    func lookUpParent(of folder: NodeID) throws(VolumeError) -> Outcome<Lookup?> { try lookUp(folder) }

    func kernelForgets(_ id: NodeID, count: UInt64) { scope.forgotten(id, count) }

    func forget(_ id: NodeID, count: UInt64) { scope.forgotten(id, count) }

    private func make(
        _ name: Filename, in folder: NodeID,
        _ body: (Filename, NodeID) throws(VolumeError) -> Outcome<Lookup>
    ) throws(VolumeError) -> Outcome<Lookup> {
        try scope.resolving { () throws(VolumeError) in
            if isOwn(name, in: folder) { throw VolumeError(EPERM, "only a document can replace the item") }
            let target = try target(name, in: folder, toMake: true)
            let outcome = try body(target.name, target.folder)
            if case .ready(let made) = outcome {
                scope.referenced(made.node)
                changed(target)
            }
            return outcome
        }
    }

    func makeFolder(
        _ name: Filename, in folder: NodeID, mode: UInt32, uid: UInt32, gid: UInt32
    ) throws(VolumeError) -> Outcome<Lookup> {
        try make(name, in: folder) { name, folder throws(VolumeError) in
            try volume.makeFolder(name, in: folder, mode: mode, uid: uid, gid: gid)
        }
    }

    func makeLink(
        _ name: Filename, in folder: NodeID, target: [UInt8], uid: UInt32, gid: UInt32
    ) throws(VolumeError) -> Outcome<Lookup> {
        try make(name, in: folder) { name, folder throws(VolumeError) in
            try volume.makeLink(name, in: folder, target: target, uid: uid, gid: gid)
        }
    }

    func makeNode(
        _ name: Filename, in folder: NodeID, mode: UInt32, device: UInt64, uid: UInt32, gid: UInt32
    ) throws(VolumeError) -> Outcome<Lookup> {
        try make(name, in: folder) { name, folder throws(VolumeError) in
            try volume.makeNode(name, in: folder, mode: mode, device: device, uid: uid, gid: gid)
        }
    }

    /// A hard link would be another name of the item, or be removed with the scope: programs copy instead.
    func link(_ id: NodeID, to name: Filename, in folder: NodeID) throws(VolumeError) -> Outcome<Lookup> {
        throw VolumeError(EPERM, "a scoped folder has no hard links")
    }

    func unlink(_ name: Filename, in folder: NodeID) throws(VolumeError) -> Outcome<Void> {
        try remove(name, in: folder) { name, folder throws(VolumeError) in try volume.unlink(name, in: folder) }
    }

    func removeFolder(_ name: Filename, in folder: NodeID) throws(VolumeError) -> Outcome<Void> {
        try remove(name, in: folder) { name, folder throws(VolumeError) in try volume.removeFolder(name, in: folder) }
    }

    private func remove(
        _ name: Filename, in folder: NodeID, _ body: (Filename, NodeID) throws(VolumeError) -> Outcome<Void>
    ) throws(VolumeError) -> Outcome<Void> {
        try scope.resolving { () throws(VolumeError) in
            let target = try target(name, in: folder)
            let outcome = try body(target.name, target.folder)
            if case .ready = outcome {
                changed(target)
                if folder == .root { scope.vanished(name) }
            }
            return outcome
        }
    }

    // MARK: Renaming

    func rename(
        _ name: Filename, in folder: NodeID, to newName: Filename, in newFolder: NodeID, noReplace: Bool
    ) throws(VolumeError) -> Outcome<Void> {
        try scope.resolving { () throws(VolumeError) in
            let isOfScope = (try isBeside(name, in: folder), try isBeside(newName, in: newFolder))
            if folder == .root, try scope.isDocument(name) {
                guard newFolder == .root else { throw VolumeError(EPERM, "the item cannot be moved to another folder") }
                return try putAside(name, as: newName, noReplace: noReplace)
            }
            // The file would be removed with the scope.
            if !isOfScope.0 && isOfScope.1 { throw VolumeError(EPERM, "the item's contents cannot be moved out of it") }
            return try move(name, in: folder, to: newName, in: newFolder, noReplace: noReplace)
        }
    }

    func exchange(
        _ name: Filename, in folder: NodeID, with newName: Filename, in newFolder: NodeID
    ) throws(VolumeError) -> Outcome<Void> {
        try scope.resolving { () throws(VolumeError) in
            // (Programs fall back to rename.)
            guard try isBeside(name, in: folder) == isBeside(newName, in: newFolder), !isOwn(name, in: folder),
                !isOwn(newName, in: newFolder)
            else { throw VolumeError(EINVAL, "the item cannot be exchanged") }
            let (from, to) = (try target(name, in: folder), try target(newName, in: newFolder))
            let outcome = try volume.exchange(from.name, in: from.folder, with: to.name, in: to.folder)
            if case .ready = outcome {
                changed(from)
                changed(to)
            }
            return outcome
        }
    }

    private func move(
        _ name: Filename, in folder: NodeID, to newName: Filename, in newFolder: NodeID, noReplace: Bool
    ) throws(VolumeError) -> Outcome<Void> {
        let from = try target(name, in: folder)
        var old: Scope.Place?
        let isItem = isOwn(newName, in: newFolder)
        if isItem {
            // A folder must not replace the item.
            switch try kind(of: from) {
            case .document: break
            case nil: throw VolumeError(ENOENT, "no such file or directory")
            default: throw VolumeError(EPERM, "only a document can replace the item")
            }
            switch try scope.keepOld(for: newName) {
            case .wait(let wait): return .wait(wait)
            case .ready(let kept): old = kept
            }
        }
        defer { if let old { scope.finished(old) } }
        let to = try target(newName, in: newFolder, toMake: true)
        let outcome = try volume.rename(
            from.name, in: from.folder, to: to.name, in: to.folder, noReplace: noReplace && old == nil)
        guard case .ready = outcome else { return outcome }
        changed(from)
        changed(to)
        if folder == .root { scope.vanished(name) }
        if isItem { try scope.adopt(newName) }
        return outcome
    }

    /// Renames the item itself, in this scope only.
    private func putAside(
        _ name: Filename, as new: Filename, noReplace: Bool
    ) throws(VolumeError) -> Outcome<Void> {
        let from = try target(name, in: .root)
        guard name != new else { return .ready(()) }
        if try kind(of: from) == nil { throw VolumeError(ENOENT, "no such file or directory") }
        if !scope.isOwnName(new), let to = try targetIfAny(new, in: .root), try kind(of: to) != nil {
            if noReplace { throw VolumeError(EEXIST, "the name exists already") }
            let outcome = try volume.unlink(to.name, in: to.folder)
            guard case .ready = outcome else { return outcome }
            changed(to)
            scope.vanished(new)
        }
        scope.putAside(as: new)
        return .ready(())
    }

    /// Nil: the file does not exist, or is unknown.
    private func kind(of target: Target) throws(VolumeError) -> InodeKind? {
        guard case .ready(let found?) = try volume.lookUp(target.name, in: target.folder) else { return nil }
        volume.forget(found.node, count: 1)
        return found.attributes.record.kind
    }

    // MARK: Attributes

    /// - Parameter code: the errno to throw for the root folder, which does not exist in the volume.
    private func requireItem(_ id: NodeID, _ code: Int32) throws(VolumeError) {
        if id == .root { throw VolumeError(code, "the folder of a granted item cannot be changed") }
    }

    func attributes(of id: NodeID) throws(VolumeError) -> NodeAttributes {
        id == .root ? root : try volume.attributes(of: id)
    }

    func setAttributes(
        _ id: NodeID, to request: AttributeRequest, through handle: HandleID?
    ) throws(VolumeError) -> NodeAttributes {
        try requireItem(id, EPERM)
        let result = try volume.setAttributes(id, to: request, through: handle)
        changed(id, contents: request.size != nil)
        return result
    }

    func extendedAttribute(_ name: [UInt8], of id: NodeID) throws(VolumeError) -> [UInt8] {
        try requireItem(id, ENODATA)
        return try volume.extendedAttribute(name, of: id)
    }

    func extendedAttributeNames(of id: NodeID, isSuperuser: Bool) throws(VolumeError) -> [UInt8] {
        id == .root ? [] : try volume.extendedAttributeNames(of: id, isSuperuser: isSuperuser)
    }

    func setExtendedAttribute(
        _ name: [UInt8], to value: [UInt8], of id: NodeID, presence: AttributePresence
    ) throws(VolumeError) {
        try requireItem(id, ENOTSUP)
        try volume.setExtendedAttribute(name, to: value, of: id, presence: presence)
        kernel.invalidateAttributes(of: id)
    }

    func removeExtendedAttribute(_ name: [UInt8], of id: NodeID) throws(VolumeError) {
        try requireItem(id, ENODATA)
        try volume.removeExtendedAttribute(name, of: id)
        kernel.invalidateAttributes(of: id)
    }

    // MARK: Files

    func create(
        _ name: Filename, in folder: NodeID, mode: UInt32, uid: UInt32, gid: UInt32, traits: OpenTraits
    ) throws(VolumeError) -> Outcome<(Lookup, Opened)> {
        try scope.resolving { () throws(VolumeError) in
            let isItem = isOwn(name, in: folder)
            var old: Scope.Place?
            if isItem {
                switch try scope.keepOld(for: name) {
                case .wait(let wait): return .wait(wait)
                case .ready(let kept): old = kept
                }
            }
            let target = try target(name, in: folder, toMake: true)
            let outcome: Outcome<(Lookup, Opened)>
            if let old {
                outcome = .ready(try replace(target, keeping: old, mode, uid, gid))
            } else {
                outcome = try volume.create(target.name, in: target.folder, mode: mode, uid: uid, gid: gid)
            }
            guard case .ready(let (lookup, opened)) = outcome else { return outcome }
            scope.referenced(lookup.node)
            scope.opened(opened.handle)
            changed(target)
            if isItem, old == nil { try scope.adopt(name) }
            return outcome
        }
    }

    /// Replaces the item with a new, empty file, as a program's save does; programs that have the old file open keep
    /// it.
    private func replace(
        _ target: Target, keeping old: Scope.Place, _ mode: UInt32, _ uid: UInt32, _ gid: UInt32
    ) throws(VolumeError) -> (Lookup, Opened) {
        let fresh = scope.freshName()
        do {
            let made = try ScopeCopy.now(volume.create(fresh, in: target.folder, mode: mode, uid: uid, gid: gid))
            do {
                try ScopeCopy.now(
                    volume.rename(fresh, in: target.folder, to: target.name, in: target.folder, noReplace: false))
            } catch {
                volume.close(made.1.handle)
                volume.forget(made.0.node, count: 1)
                _ = try? volume.unlink(fresh, in: target.folder)
                throw error
            }
            scope.began(made.1.handle, replacing: old)
            return made
        } catch {
            scope.finished(old)
            throw VolumeError(error)
        }
    }

    func open(
        _ id: NodeID, flags: Int32, killsPrivileges: Bool, traits: OpenTraits, thread: Int32?
    ) throws(VolumeError) -> Opened {
        let opened = try volume.open(id, flags: flags, killsPrivileges: killsPrivileges, thread: thread)
        if flags & O_TRUNC != 0 { changed(id, contents: true) }
        scope.opened(opened.handle)
        return opened
    }

    func flush(_ handle: HandleID, of id: NodeID, thread: Int32) throws(VolumeError) {
        if scope.isUnfinished(handle), DyingProcess.isKilled(thread) { scope.cutOff(handle) }
        // (Only writers flush.)
        defer { changed(id, contents: true) }
        try volume.flush(handle)
    }

    func close(_ handle: HandleID) {
        scope.closed(handle)
        volume.close(handle)
    }

    // MARK: Folders

    func openFolder(_ id: NodeID, thread: Int32?) throws(VolumeError) -> Outcome<HandleID> {
        if id == .root { return .ready(HandleID(rawValue: 0)) }
        let outcome = try volume.openFolder(id, thread: thread)
        if case .ready(let handle) = outcome { scope.opened(handle) }
        return outcome
    }

    func closeFolder(_ handle: HandleID) {
        scope.closed(handle)
        volume.closeFolder(handle)
    }

    func listed(_ id: NodeID, thread: Int32?) throws(VolumeError) -> Outcome<Void> {
        id == .root ? .ready(()) : try volume.listed(id, thread: thread)
    }

    /// In the root folder, cookies are positions in the list of names: an entry that is created or removed meanwhile
    /// may be returned twice or not at all, as readdir(3) allows.
    func entries(of id: NodeID, after cookie: Int64, limit: Int) throws(VolumeError) -> [FolderEntry] {
        guard id == .root else { return try volume.entries(of: id, after: cookie, limit: limit) }
        let names = try scope.resolving(scope.entries)
        return names.enumerated().dropFirst(Int(cookie)).prefix(limit).map { index, entry in
            FolderEntry(cookie: Int64(index) + 1, name: entry.name, inode: entry.record)
        }
    }

    func parent(of id: NodeID) throws(VolumeError) -> InodeID {
        id == .root ? .root : try volume.parent(of: id)
    }
}

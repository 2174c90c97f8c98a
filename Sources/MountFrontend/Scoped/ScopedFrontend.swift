package import FUSE
import FileProvider
import Glibc
import ItemCatalog
package import SyncEngine
import Trees
import Volume

/// A mount in which one item is all that there is: what a sandbox is given of a domain.
///
/// It has the domain's volume, and its nodes, beneath it; only names in its topmost folder mean something else. The kernel
/// keeps nothing of it in its caches, which nobody would tell of changes: files are opened for direct I/O (mapping them
/// works), names and attributes are good for the moment. What is done here the kernel is told for the domain's own mount.
package final class ScopedFrontend: FUSEFileSystem {
    let scope: Scope
    private let inner: MountFrontend
    private let made = timespec.now
    static let root: UInt64 = 1

    package init(scope: Scope, workers: Workers) {
        self.scope = scope
        inner = MountFrontend(volume: scope.volume, workers: workers)
    }

    var volume: Volume { scope.volume }
    private var kernel: any KernelNotifying { scope.kernel }

    /// What a request names: in a folder of the item, as it is; in the topmost folder, what the scope says.
    private struct Target {
        var folder: NodeID
        var name: Filename
    }

    private enum Purpose { case look, make }

    private func target(
        _ parent: UInt64, _ name: [UInt8], _ purpose: Purpose = .look
    ) throws(VolumeError) -> Target? {
        let name = Filename(bytes: name)
        guard parent == Self.root else { return Target(folder: NodeID(rawValue: parent), name: name) }
        do {
            if let problem = name.problem { throw VolumeError(EINVAL, problem) }
            let place = try purpose == .make ? scope.placeToMake(name) : scope.place(of: name)
            return try place.map { Target(folder: try scope.node(of: $0.folder), name: $0.name) }
        } catch { throw VolumeError(error) }
    }

    private func found(_ parent: UInt64, _ name: [UInt8]) throws(VolumeError) -> Target {
        guard let target = try target(parent, name) else { throw VolumeError(ENOENT, "no such file or directory") }
        return target
    }

    // MARK: Names

    private func answer<Value>(
        _ request: consuming FUSERequest, _ call: @escaping @Sendable () throws(VolumeError) -> Outcome<Value>,
        _ reply: @escaping @Sendable (consuming FUSERequest, Value) -> Void
    ) {
        let scope = scope
        inner.answer(request, { () throws(VolumeError) in try scope.settled(call) }, reply)
    }

    package func lookup(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8]) {
        answer(request) { [self] () throws(VolumeError) -> Outcome<Lookup?> in
            guard let target = try target(parent, name) else { return .ready(nil) }
            return try volume.lookUp(target.name, in: target.folder)
        } _: { [self] request, found in
            guard let found else {
                request.replyNegative(timeout: 0)
                return
            }
            reply(request, found)
        }
    }

    package func forget(node: UInt64, count: UInt64) { scope.forgotten(NodeID(rawValue: node), count) }

    private func reply(_ request: consuming FUSERequest, _ lookup: Lookup) {
        scope.referenced(lookup.node)
        if !request.reply(entry: momentary(lookup)) { scope.forgotten(lookup.node, 1) }
    }

    private func momentary(_ lookup: Lookup) -> FUSEEntry {
        FUSEEntry(
            node: lookup.node.rawValue, attributes: lookup.attributes.stat, attributeTimeout: 0, entryTimeout: 0)
    }

    /// How long a program here waits until those at the domain's mount see what it did: as long as one there holds the
    /// kernel up, not more.
    private static let patience = 0.1

    private func changed(_ target: Target) {
        kernel.invalidateEntry(in: target.folder, name: target.name)
        _ = kernel.settle(target.folder, seconds: Self.patience)
    }

    private func changed(_ node: NodeID, contents: Bool) {
        if contents { kernel.invalidateContents(of: node) } else { kernel.invalidateAttributes(of: node) }
        _ = kernel.settle(node, seconds: Self.patience)
    }

    private func translating<T>(_ body: () throws -> T) throws(VolumeError) -> T {
        do { return try body() } catch { throw VolumeError(error) }
    }

    /// Whether it is what the item is called, or would be.
    private func isOwn(_ parent: UInt64, _ name: [UInt8]) -> Bool {
        parent == Self.root && scope.isOwnName(Filename(bytes: name))
    }

    /// Whether what is in this folder is of this scope only, and goes with it.
    private func isBeside(_ parent: UInt64, _ name: [UInt8]) throws(VolumeError) -> Bool {
        if parent == Self.root {
            return try translating { try !scope.isDocument(Filename(bytes: name)) } && !isOwn(parent, name)
        }
        let folder = try volume.attributes(of: NodeID(rawValue: parent)).record.id
        return try translating { try scope.isBeside(folder) }
    }

    /// Makes something, and replies with it.
    private func make(
        _ request: consuming FUSERequest, _ parent: UInt64, _ name: [UInt8],
        _ body: @escaping @Sendable (Volume, Filename, NodeID) throws(VolumeError) -> Outcome<Lookup>
    ) {
        answer(request) { [self] () throws(VolumeError) -> Outcome<Lookup> in
            if isOwn(parent, name) { throw VolumeError(EPERM, "only a document takes the place of the item") }
            guard let target = try target(parent, name, .make) else { throw VolumeError(ENOENT, "no such folder") }
            let outcome = try body(volume, target.name, target.folder)
            if case .ready = outcome { changed(target) }
            return outcome
        } _: { [self] request, made in
            reply(request, made)
        }
    }

    package func mkdir(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32) {
        let context = request.context
        make(request, parent, name) { volume, name, folder throws(VolumeError) in
            try volume.makeFolder(name, in: folder, mode: mode, uid: context.uid, gid: context.gid)
        }
    }

    package func symlink(_ request: consuming FUSERequest, target: [UInt8], parent: UInt64, name: [UInt8]) {
        let context = request.context
        make(request, parent, name) { volume, name, folder throws(VolumeError) in
            try volume.makeLink(name, in: folder, target: target, uid: context.uid, gid: context.gid)
        }
    }

    package func mknod(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32, rdev: UInt64) {
        let context = request.context
        make(request, parent, name) { volume, name, folder throws(VolumeError) in
            try volume.makeNode(name, in: folder, mode: mode, device: rdev, uid: context.uid, gid: context.gid)
        }
    }

    /// A second name would be one of the item's, or be gone with the scope: programs copy instead.
    package func link(_ request: consuming FUSERequest, node: UInt64, newParent: UInt64, newName: [UInt8]) {
        request.reply(errno: EPERM)
    }

    package func unlink(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8]) {
        remove(request, parent, name) { volume, name, folder throws(VolumeError) in try volume.unlink(name, in: folder)
        }
    }

    package func rmdir(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8]) {
        remove(request, parent, name) { volume, name, folder throws(VolumeError) in
            try volume.removeFolder(name, in: folder)
        }
    }

    private func remove(
        _ request: consuming FUSERequest, _ parent: UInt64, _ name: [UInt8],
        _ body: @escaping @Sendable (Volume, Filename, NodeID) throws(VolumeError) -> Outcome<Void>
    ) {
        answer(request) { [self] () throws(VolumeError) -> Outcome<Void> in
            let target = try found(parent, name)
            let outcome = try body(volume, target.name, target.folder)
            if case .ready = outcome {
                changed(target)
                if parent == Self.root { scope.vanished(Filename(bytes: name)) }
            }
            return outcome
        } _: { request, _ in
            request.reply(errno: 0)
        }
    }

    package func rename(
        _ request: consuming FUSERequest, parent: UInt64, name: [UInt8], newParent: UInt64, newName: [UInt8],
        flags: UInt32
    ) {
        // As MountFrontend has it.
        let (noReplace, exchange): (UInt32, UInt32) = (1, 2)
        guard flags & ~(noReplace | exchange) == 0, flags != noReplace | exchange else {
            request.reply(errno: EINVAL)
            return
        }
        answer(request) { [self] () throws(VolumeError) -> Outcome<Void> in
            let isOfScope = (try isBeside(parent, name), try isBeside(newParent, newName))
            if flags == exchange { return try self.exchange((parent, name), (newParent, newName), isOfScope) }
            if parent == Self.root, try translating({ try scope.isDocument(Filename(bytes: name)) }) {
                guard newParent == Self.root else { throw VolumeError(EPERM, "the item stays where it is") }
                return try putAside(name, as: newName, noReplace: flags == noReplace)
            }
            // It would be gone with the scope.
            if !isOfScope.0 && isOfScope.1 { throw VolumeError(EPERM, "what is the item's stays in it") }
            return try move((parent, name), (newParent, newName), noReplace: flags == noReplace)
        } _: { request, _ in
            request.reply(errno: 0)
        }
    }

    private typealias Named = (parent: UInt64, name: [UInt8])

    private func exchange(_ one: Named, _ other: Named, _ isOfScope: (Bool, Bool)) throws(VolumeError) -> Outcome<Void>
    {
        // (Programs that cannot exchange rename.)
        guard isOfScope.0 == isOfScope.1, !isOwn(one.parent, one.name), !isOwn(other.parent, other.name) else {
            throw VolumeError(EINVAL, "the item cannot be exchanged")
        }
        let (from, to) = (try found(one.parent, one.name), try found(other.parent, other.name))
        let outcome = try volume.exchange(from.name, in: from.folder, with: to.name, in: to.folder)
        if case .ready = outcome {
            changed(from)
            changed(to)
        }
        return outcome
    }

    private func move(_ source: Named, _ target: Named, noReplace: Bool) throws(VolumeError) -> Outcome<Void> {
        let from = try found(source.parent, source.name)
        var old: Scope.Place?
        let isItem = isOwn(target.parent, target.name)
        if isItem {
            // A folder does not take the place of the item.
            let node = try volume.lookUp(from.name, in: from.folder)
            guard case .ready(let lookup?) = node else { throw VolumeError(ENOENT, "no such file or directory") }
            volume.forget(lookup.node, count: 1)
            guard lookup.attributes.record.kind == .document else {
                throw VolumeError(EPERM, "only a document takes the place of the item")
            }
            switch try translating({ try scope.keepOld(for: Filename(bytes: target.name)) }) {
            case .wait(let wait): return .wait(wait)
            case .ready(let kept): old = kept
            }
        }
        defer { if let old { scope.finished(old) } }
        let to = try self.target(target.parent, target.name, .make)!
        let outcome = try volume.rename(
            from.name, in: from.folder, to: to.name, in: to.folder, noReplace: noReplace && old == nil)
        guard case .ready = outcome else { return outcome }
        changed(from)
        changed(to)
        if source.parent == Self.root { scope.vanished(Filename(bytes: source.name)) }
        if isItem { try adopt(target.name) }
        return outcome
    }

    private func adopt(_ name: [UInt8]) throws(VolumeError) {
        try translating { if let place = try scope.place(of: Filename(bytes: name)) { try scope.adopt(place) } }
    }

    /// The item itself gets another name: here only.
    private func putAside(_ name: [UInt8], as newName: [UInt8], noReplace: Bool) throws(VolumeError) -> Outcome<Void> {
        let (from, new) = (try found(Self.root, name), Filename(bytes: newName))
        guard name != newName else { return .ready(()) }
        _ = try present(from, orElse: ENOENT)
        if !scope.isOwnName(new), let to = try target(Self.root, newName), try present(to, orElse: 0) {
            if noReplace { throw VolumeError(EEXIST, "there is such a file") }
            let outcome = try volume.unlink(to.name, in: to.folder)
            guard case .ready = outcome else { return outcome }
            changed(to)
            scope.vanished(new)
        }
        scope.putAside(as: new)
        return .ready(())
    }

    /// - Parameter code: an errno to throw if it is not there; 0: none.
    private func present(_ target: Target, orElse code: Int32) throws(VolumeError) -> Bool {
        if case .ready(let found?) = try volume.lookUp(target.name, in: target.folder) {
            volume.forget(found.node, count: 1)
            return true
        }
        if code != 0 { throw VolumeError(code, "there is no such file") }
        return false
    }

    package func readlink(_ request: consuming FUSERequest, node: UInt64) { inner.readlink(request, node: node) }

    // MARK: Attributes

    /// Of the topmost folder.
    private func rootAttributes() -> stat {
        var status = stat()
        status.st_ino = 1
        status.st_mode = S_IFDIR | (scope.isWritable ? 0o700 : 0o500)
        status.st_nlink = 2
        status.st_uid = geteuid()
        status.st_gid = getegid()
        status.st_blksize = 4_096
        (status.st_atim, status.st_mtim, status.st_ctim) = (made, made, made)
        return status
    }

    package func getattr(_ request: consuming FUSERequest, node: UInt64, handle: UInt64?) {
        guard node != Self.root else {
            request.reply(attributes: rootAttributes(), timeout: 0)
            return
        }
        inner.answerNow(request) { () throws(VolumeError) in
            try volume.attributes(of: NodeID(rawValue: node))
        } _: { request, attributes in
            request.reply(attributes: attributes.stat, timeout: 0)
        }
    }

    package func setattr(
        _ request: consuming FUSERequest, node: UInt64, to attributes: FUSESetAttributes, handle: UInt64?
    ) {
        guard node != Self.root else {
            request.reply(errno: EPERM)
            return
        }
        let id = NodeID(rawValue: node)
        inner.answerNow(request) { () throws(VolumeError) in
            let result = try volume.setAttributes(
                id, to: AttributeRequest(attributes), through: handle.map(HandleID.init(rawValue:)))
            changed(id, contents: attributes.size != nil)
            return result
        } _: { request, attributes in
            request.reply(attributes: attributes.stat, timeout: 0)
        }
    }

    package func statfs(_ request: consuming FUSERequest, node: UInt64) { inner.statfs(request, node: node) }

    package func setxattr(
        _ request: consuming FUSERequest, node: UInt64, name: [UInt8], value: UnsafeRawBufferPointer, flags: Int32
    ) {
        guard node != Self.root else {
            request.reply(errno: ENOTSUP)
            return
        }
        inner.setxattr(request, node: node, name: name, value: value, flags: flags)
        kernel.invalidateAttributes(of: NodeID(rawValue: node))
    }

    package func getxattr(_ request: consuming FUSERequest, node: UInt64, name: [UInt8], size: Int) {
        guard node != Self.root else {
            request.reply(errno: ENODATA)
            return
        }
        inner.getxattr(request, node: node, name: name, size: size)
    }

    package func listxattr(_ request: consuming FUSERequest, node: UInt64, size: Int) {
        guard node != Self.root else {
            request.reply(xattr: [], size: size)
            return
        }
        inner.listxattr(request, node: node, size: size)
    }

    package func removexattr(_ request: consuming FUSERequest, node: UInt64, name: [UInt8]) {
        guard node != Self.root else {
            request.reply(errno: ENODATA)
            return
        }
        inner.removexattr(request, node: node, name: name)
        kernel.invalidateAttributes(of: NodeID(rawValue: node))
    }

    // MARK: Files

    package func create(
        _ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32, flags: Int32,
        killPrivileges: Bool
    ) {
        let context = request.context
        answer(request) { [self] () throws(VolumeError) -> Outcome<(Lookup, Opened)> in
            var old: Scope.Place?
            if isOwn(parent, name) {
                switch try translating({ try scope.keepOld(for: Filename(bytes: name)) }) {
                case .wait(let wait): return .wait(wait)
                case .ready(let kept): old = kept
                }
            }
            guard let target = try target(parent, name, .make) else { throw VolumeError(ENOENT, "no such folder") }
            if let old { return .ready(try replace(target, keeping: old, mode, context)) }
            let outcome = try volume.create(
                target.name, in: target.folder, mode: mode, uid: context.uid, gid: context.gid)
            guard case .ready = outcome else { return outcome }
            changed(target)
            if isOwn(parent, name) { try adopt(name) }
            return outcome
        } _: { [self] request, made in
            let (lookup, opened) = made
            scope.referenced(lookup.node)
            scope.opened(opened.handle)
            if !request.reply(create: momentary(lookup), open: direct(opened)) {
                close(opened.handle)
                scope.forgotten(lookup.node, 1)
            }
        }
    }

    /// A new, empty file takes the item's place, as a program's save does: who has the old one open keeps it.
    private func replace(
        _ target: Target, keeping old: Scope.Place, _ mode: UInt32, _ context: FUSEContext
    ) throws(VolumeError) -> (Lookup, Opened) {
        let fresh = scope.freshName()
        do {
            let made = try ScopeCopy.now(
                volume.create(fresh, in: target.folder, mode: mode, uid: context.uid, gid: context.gid))
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
            changed(target)
            return made
        } catch {
            scope.finished(old)
            throw VolumeError(error)
        }
    }

    package func open(_ request: consuming FUSERequest, node: UInt64, flags: Int32, killPrivileges: Bool) {
        let (id, thread) = (NodeID(rawValue: node), request.context.pid)
        inner.answerNow(request) { () throws(VolumeError) in
            let opened = try volume.open(id, flags: flags, killsPrivileges: killPrivileges, thread: thread)
            if flags & O_TRUNC != 0 { changed(id, contents: true) }
            return opened
        } _: { request, opened in
            scope.opened(opened.handle)
            if !request.reply(open: direct(opened)) { close(opened.handle) }
        }
    }

    /// The kernel's own ways to a file (its cache, passthrough) belong to the domain's mount.
    private func direct(_ opened: Opened) -> FUSEOpenReply {
        FUSEOpenReply(handle: opened.handle.rawValue, noFlush: opened.isReadOnly, directIO: true)
    }

    private func close(_ handle: HandleID) {
        scope.closed(handle)
        volume.close(handle)
    }

    package func read(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int) {
        inner.read(request, node: node, handle: handle, offset: offset, size: size)
    }

    package func write(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, bytes: UnsafeRawBufferPointer,
        offset: Int64, flags: Int32, killPrivileges: Bool
    ) {
        inner.write(
            request, node: node, handle: handle, bytes: bytes, offset: offset, flags: flags,
            killPrivileges: killPrivileges)
        kernel.invalidateContents(of: NodeID(rawValue: node))
    }

    package func flush(_ request: consuming FUSERequest, node: UInt64, handle: UInt64) {
        let id = HandleID(rawValue: handle)
        if scope.isUnfinished(id), DyingProcess.isKilled(request.context.pid) { scope.cutOff(id) }
        // (Only writers flush.)
        changed(NodeID(rawValue: node), contents: true)
        inner.flush(request, node: node, handle: handle)
    }

    package func release(_ request: consuming FUSERequest, node: UInt64, handle: UInt64) {
        close(HandleID(rawValue: handle))
        request.reply(errno: 0)
    }

    package func fsync(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, dataOnly: Bool) {
        inner.fsync(request, node: node, handle: handle, dataOnly: dataOnly)
    }

    package func fallocate(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, mode: Int32, offset: Int64, length: Int64
    ) {
        inner.fallocate(request, node: node, handle: handle, mode: mode, offset: offset, length: length)
        kernel.invalidateContents(of: NodeID(rawValue: node))
    }

    package func lseek(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, whence: Int32) {
        inner.lseek(request, node: node, handle: handle, offset: offset, whence: whence)
    }

    // MARK: Folders

    package func opendir(_ request: consuming FUSERequest, node: UInt64, flags: Int32) {
        if node == Self.root { return answerOpen(request, HandleID(rawValue: 0)) }
        inner.answer(request) { [self] () throws(VolumeError) in
            try volume.openFolder(NodeID(rawValue: node))
        } _: { [self] request, handle in
            answerOpen(request, handle)
        }
    }

    private func answerOpen(_ request: consuming FUSERequest, _ handle: HandleID) {
        scope.opened(handle)
        if !request.reply(open: FUSEOpenReply(handle: handle.rawValue)) { volume.closeFolder(handle) }
    }

    package func releasedir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64) {
        scope.closed(HandleID(rawValue: handle))
        inner.releasedir(request, node: node, handle: handle)
    }

    package func fsyncdir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, dataOnly: Bool) {
        inner.fsyncdir(request, node: node, handle: handle, dataOnly: dataOnly)
    }

    package func readdir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int) {
        if node == Self.root { return listRoot(request, offset, size, plus: false) }
        inner.readdir(request, node: node, handle: handle, offset: offset, size: size)
    }

    /// Names only, as readdir: the kernel asks for what it needs of them.
    package func readdirplus(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int
    ) {
        if node == Self.root { return listRoot(request, offset, size, plus: true) }
        inner.listNames(request, NodeID(rawValue: node), offset, size)
    }

    /// Offsets are places in the list of names: one that comes or goes meanwhile may be told twice or not at all, as
    /// readdir(3) lets it be.
    private func listRoot(_ request: consuming FUSERequest, _ offset: Int64, _ size: Int, plus: Bool) {
        var buffer = request.newDirectoryBuffer(size: size, plus: plus)
        do {
            var names: [([UInt8], UInt64, UInt32)] = [(Array(".".utf8), 1, S_IFDIR), (Array("..".utf8), 1, S_IFDIR)]
            names += try scope.settled { () throws(VolumeError) in try translating(scope.entries) }.map {
                ($0.name.bytes, UInt64($0.record.id.rawValue), $0.record.kind.fileType)
            }
            for (index, entry) in names.enumerated().dropFirst(Int(max(0, offset))) {
                let (name, inode, type) = entry
                guard buffer.add(bare: name, inode: inode, type: type, nextOffset: Int64(index) + 1, plus: plus) else {
                    break
                }
            }
            _ = request.reply(directory: buffer)
        } catch { request.reply(errno: VolumeError(error).errno) }
    }
}

extension timespec {
    fileprivate static var now: timespec {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return now
    }
}

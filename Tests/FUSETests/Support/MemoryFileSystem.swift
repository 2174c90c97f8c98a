import FUSE
import Glibc
import Synchronization

/// A small file system in memory; tests override what they want to see done otherwise. Node 1
/// is the root; a folder's listing is its names in order of creation.
class MemoryFileSystem: FUSEFileSystem, @unchecked Sendable {  // all state is behind `state`
    struct Node {
        var mode: UInt32
        var bytes: [UInt8] = []
        var names: [(name: [UInt8], node: UInt64)] = []
        var mtime = timespec(tv_sec: 1_000_000_000, tv_nsec: 5)
        var links: UInt = 1
        var rdev: UInt64 = 0
        var extendedAttributes: [[UInt8]: [UInt8]] = [:]
    }

    struct State {
        var nodes: [UInt64: Node] = [1: Node(mode: S_IFDIR | 0o755)]
        var last: UInt64 = 1
        var calls: [String: Int] = [:]
        var lookups: [UInt64: Int] = [:]
    }

    let state = Mutex(State())
    /// Seconds for attributes and names.
    let timeout: Double

    init(timeout: Double = 0) { self.timeout = timeout }

    // MARK: For the tests

    @discardableResult
    func add(_ name: String, _ contents: String = "", to parent: UInt64 = 1) -> UInt64 {
        state.withLock {
            $0.add(Array(name.utf8), Node(mode: S_IFREG | 0o644, bytes: Array(contents.utf8)), to: parent)
        }
    }

    func contents(of node: UInt64) -> String {
        state.withLock { String(decoding: $0.nodes[node]?.bytes ?? [], as: UTF8.self) }
    }

    func set(_ contents: String, of node: UInt64) {
        state.withLock { $0.nodes[node]?.bytes = Array(contents.utf8) }
    }

    func extendedAttributes(of node: UInt64) -> [String: String] {
        let values = state.withLock { $0.nodes[node]!.extendedAttributes }
        return Dictionary(
            uniqueKeysWithValues: values.map {
                (String(decoding: $0, as: UTF8.self), String(decoding: $1, as: UTF8.self))
            }
        )
    }

    func calls(_ operation: String) -> Int { state.withLock { $0.calls[operation, default: 0] } }

    func count(_ operation: String) { state.withLock { $0.calls[operation, default: 0] += 1 } }

    func entry(_ node: UInt64) -> FUSEEntry? {
        guard let attributes = attributes(node) else { return nil }
        return FUSEEntry(node: node, attributes: attributes, attributeTimeout: timeout, entryTimeout: timeout)
    }

    func attributes(_ node: UInt64) -> stat? { state.withLock { $0.attributes(node) } }

    func find(_ parent: UInt64, _ name: [UInt8]) -> UInt64? {
        state.withLock { $0.nodes[parent]?.names.first { $0.name == name }?.node }
    }

    // MARK: Names

    func lookup(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8]) {
        count("lookup")
        guard let node = find(parent, name), let entry = entry(node) else {
            if timeout > 0 { request.replyNegative(timeout: timeout) } else { request.reply(errno: ENOENT) }
            return
        }
        state.withLock { $0.lookups[node, default: 0] += 1 }
        if !request.reply(entry: entry) { state.withLock { $0.lookups[node]! -= 1 } }
    }

    func forget(node: UInt64, count: UInt64) {
        state.withLock { state in
            state.calls["forget", default: 0] += 1
            state.lookups[node, default: 0] -= Int(count)
        }
    }

    func getattr(_ request: consuming FUSERequest, node: UInt64, handle: UInt64?) {
        count("getattr")
        guard let attributes = attributes(node) else { return _ = request.reply(errno: ENOENT) }
        request.reply(attributes: attributes, timeout: timeout)
    }

    func setattr(
        _ request: consuming FUSERequest, node: UInt64, to values: FUSESetAttributes, handle: UInt64?
    ) {
        count("setattr")
        state.withLock { state in
            if let mode = values.mode { state.nodes[node]!.mode = state.nodes[node]!.mode & S_IFMT | mode & 0o7777 }
            if let size = values.size { state.nodes[node]!.resize(Int(size)) }
            if case .at(let time) = values.mtime { state.nodes[node]!.mtime = time }
            if values.killPrivileges { state.killPrivileges("setattr", node) }
            let times: [Any?] = [values.atime, values.mtime, values.ctime]
            let others: [Any?] = [values.mode, values.uid, values.gid, values.size]
            if (times + others).allSatisfy({ $0 == nil }) { state.calls["setattr of nothing", default: 0] += 1 }
        }
        request.reply(attributes: attributes(node)!, timeout: timeout)
    }

    func readlink(_ request: consuming FUSERequest, node: UInt64) {
        request.reply(target: state.withLock { $0.nodes[node]!.bytes })
    }

    func add(_ request: consuming FUSERequest, _ parent: UInt64, _ name: [UInt8], _ node: Node) {
        guard find(parent, name) == nil else { return _ = request.reply(errno: EEXIST) }
        let new = state.withLock { $0.add(name, node, to: parent) }
        request.reply(entry: entry(new)!)
    }

    func mkdir(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32) {
        add(request, parent, name, Node(mode: S_IFDIR | mode & 0o7777))
    }

    func symlink(_ request: consuming FUSERequest, target: [UInt8], parent: UInt64, name: [UInt8]) {
        add(request, parent, name, Node(mode: S_IFLNK | 0o777, bytes: target))
    }

    func unlink(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8]) {
        guard find(parent, name) != nil else { return _ = request.reply(errno: ENOENT) }
        state.withLock { $0.nodes[parent]!.names.removeAll { $0.name == name } }
        request.reply(errno: 0)
    }

    func rmdir(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8]) {
        guard let node = find(parent, name) else { return _ = request.reply(errno: ENOENT) }
        guard state.withLock({ $0.nodes[node]!.names.isEmpty }) else { return _ = request.reply(errno: ENOTEMPTY) }
        unlink(request, parent: parent, name: name)
    }

    func rename(
        _ request: consuming FUSERequest, parent: UInt64, name: [UInt8], newParent: UInt64, newName: [UInt8],
        flags: UInt32
    ) {
        guard let node = find(parent, name) else { return _ = request.reply(errno: ENOENT) }
        guard flags == 0 else { return _ = request.reply(errno: EINVAL) }
        state.withLock { state in
            state.nodes[parent]!.names.removeAll { $0.name == name }
            state.nodes[newParent]!.names.removeAll { $0.name == newName }
            state.nodes[newParent]!.names.append((newName, node))
        }
        request.reply(errno: 0)
    }

    // MARK: Files

    func openReply(node: UInt64, flags: Int32) -> FUSEOpenReply { FUSEOpenReply(handle: node + 1000) }

    func create(
        _ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32, flags: Int32,
        killPrivileges: Bool
    ) {
        count("create")
        let node = state.withLock { state in
            let node = state.add(name, Node(mode: S_IFREG | mode & 0o7777), to: parent)
            if killPrivileges { state.killPrivileges("create", node) }
            return node
        }
        request.reply(create: entry(node)!, open: openReply(node: node, flags: flags))
    }

    func open(_ request: consuming FUSERequest, node: UInt64, flags: Int32, killPrivileges: Bool) {
        count("open")
        state.withLock { state in
            if flags & O_TRUNC != 0 { state.nodes[node]!.resize(0) }
            if killPrivileges { state.killPrivileges("open", node) }
        }
        request.reply(open: openReply(node: node, flags: flags))
    }

    func read(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int) {
        count("read")
        guard handle == node + 1000 else { return _ = request.reply(errno: EBADF) }
        let bytes = state.withLock { $0.nodes[node]!.bytes }.dropFirst(Int(offset)).prefix(size)
        request.reply(bytes: Array(bytes))
    }

    func write(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, bytes: UnsafeRawBufferPointer,
        offset: Int64, flags: Int32, killPrivileges: Bool
    ) {
        count("write")
        state.withLock { state in
            if killPrivileges { state.killPrivileges("write", node) }
            state.nodes[node]!.overwrite(Int(offset), with: bytes)
        }
        request.reply(written: bytes.count)
    }

    func flush(_ request: consuming FUSERequest, node: UInt64, handle: UInt64) {
        count("flush")
        request.reply(errno: 0)
    }

    func release(_ request: consuming FUSERequest, node: UInt64, handle: UInt64) {
        count("release")
        request.reply(errno: 0)
    }

    func fsync(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, dataOnly: Bool) {
        count(dataOnly ? "fdatasync" : "fsync")
        request.reply(errno: 0)
    }

    // MARK: Folders

    func opendir(_ request: consuming FUSERequest, node: UInt64, flags: Int32) {
        request.reply(open: FUSEOpenReply(handle: node + 2000))
    }

    func readdir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int) {
        count("readdir")
        list(request, node, offset, size, plus: false)
    }

    func readdirplus(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int) {
        count("readdirplus")
        list(request, node, offset, size, plus: true)
    }

    /// Offsets: 0 and 1 are "." and "..", then the names.
    private func list(_ request: consuming FUSERequest, _ node: UInt64, _ offset: Int64, _ size: Int, plus: Bool) {
        var buffer = request.newDirectoryBuffer(size: size, plus: plus)
        var next = offset
        let names = state.withLock { $0.nodes[node]!.names }
        while next < Int64(names.count + 2) {
            let name: [UInt8] = next == 0 ? [46] : next == 1 ? [46, 46] : names[Int(next) - 2].name
            let fits =
                next < 2
                ? buffer.add(name: name, inode: node, type: S_IFDIR, nextOffset: next + 1)
                : buffer.add(name: name, entry: entry(names[Int(next) - 2].node)!, nextOffset: next + 1)
            guard fits else { break }
            if plus, next >= 2 { state.withLock { $0.lookups[names[Int(next) - 2].node, default: 0] += 1 } }
            next += 1
        }
        request.reply(directory: buffer)
    }

    func releasedir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64) { request.reply(errno: 0) }

    func fsyncdir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, dataOnly: Bool) {
        count("fsyncdir")
        request.reply(errno: 0)
    }

    func statfs(_ request: consuming FUSERequest, node: UInt64) {
        var out = statvfs()
        out.f_bsize = 4096
        out.f_frsize = 4096
        out.f_blocks = 12345
        out.f_namemax = 255
        request.reply(statistics: out)
    }
}

extension MemoryFileSystem.Node {
    mutating func resize(_ size: Int) {
        bytes = Array(bytes.prefix(size)) + [UInt8](repeating: 0, count: max(0, size - bytes.count))
    }

    mutating func overwrite(_ offset: Int, with new: some Collection<UInt8>) {
        let end = offset + new.count
        if bytes.count < end { resize(end) }
        bytes.replaceSubrange(offset..<end, with: new)
    }
}

extension MemoryFileSystem.State {
    mutating func add(_ name: [UInt8], _ node: MemoryFileSystem.Node, to parent: UInt64) -> UInt64 {
        last += 1
        nodes[last] = node
        nodes[parent]!.names.append((name, last))
        return last
    }

    /// As the kernel's own would: setgid only of what the group may execute.
    mutating func killPrivileges(_ operation: String, _ node: UInt64) {
        calls["kill by \(operation)", default: 0] += 1
        let mode = nodes[node]!.mode
        nodes[node]!.mode = mode & ~(mode & 0o010 != 0 ? 0o6000 : 0o4000)
    }

    func attributes(_ number: UInt64) -> stat? {
        guard let node = nodes[number] else { return nil }
        var out = stat()
        out.st_ino = ino_t(number)
        out.st_mode = node.mode
        out.st_nlink = node.links
        out.st_size = node.bytes.count
        out.st_blocks = (node.bytes.count + 511) / 512
        out.st_blksize = 4096
        out.st_mtim = node.mtime
        out.st_rdev = dev_t(node.rdev)
        return out
    }
}

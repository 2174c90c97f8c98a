import FileProvider
import Glibc
import ItemCatalog
import SyncEngine
import Trees
import Volume

/// Programs and users in process: calls of a ``Volume``, as the kernel would make them for an ``Operation``.
///
/// Unchecked: one thread alone uses it (see ``Schedule``).
final class Machine: @unchecked Sendable {
    private let life: Life
    /// Runs the schedule until a condition holds; false: it never will.
    private let runUntil: (() -> Bool) -> Bool
    private struct Slot {
        var node: NodeID
        var opened: Opened
        var isWritable: Bool
    }
    private var slots: [Int: Slot] = [:]
    /// Whether the last operation had to wait for the store.
    private(set) var hasWaited = false

    private var volume: Volume { life.volume }
    private var engine: SyncEngine { life.volume.engine }

    init(_ life: Life, runUntil: @escaping (() -> Bool) -> Bool) {
        self.life = life
        self.runUntil = runUntil
    }

    var openSlots: [Int] { slots.keys.sorted() }

    /// The file open in a slot, as by fstat(2), and its generation.
    func file(in slot: Int) -> OpenFile? {
        guard let node = slots[slot]?.node, let record = try? volume.attributes(of: node).record else { return nil }
        return OpenFile(inode: record.id.rawValue, generation: record.generation)
    }

    func perform(_ operation: Operation) -> Answer {
        hasWaited = false
        do throws(VolumeError) { return try carryOut(operation) } catch { return .failed(error.errno) }
    }

    // MARK: Waiting

    private final class Box: @unchecked Sendable {
        // Unchecked: one thread alone uses it (see Schedule).
        var result: Result<Void, VolumeError>?
    }

    /// No answer ever came; not a real errno.
    static let hangs: Int32 = 9_999

    func run(_ body: @escaping @Sendable () async throws -> Void) throws(VolumeError) {
        let box = Box()
        Task {
            do {
                try await body()
                box.result = .success(())
            } catch {
                box.result = .failure(VolumeError(error))
            }
        }
        hasWaited = true
        guard runUntil({ box.result != nil }), let result = box.result else {
            throw VolumeError(Self.hangs, "never answered")
        }
        try result.get()
    }

    private func ready<T>(_ call: () throws(VolumeError) -> Outcome<T>) throws(VolumeError) -> T {
        while true {
            switch try call() {
            case .ready(let value): return value
            case .wait(let wait): try run(wait.run)
            }
        }
    }

    // MARK: Paths

    private typealias Found = (node: NodeID, record: InodeRecord)

    private func at<T>(_ path: String, _ body: (Found) throws(VolumeError) -> T) throws(VolumeError) -> T {
        var references: [NodeID] = []
        defer { for node in references { volume.forget(node, count: 1) } }
        var found: Found = (.root, try volume.attributes(of: .root).record)
        for name in path.split(separator: "/") {
            guard found.record.isFolder else { throw VolumeError(ENOTDIR, path) }
            let next = try ready { () throws(VolumeError) in
                try volume.lookUp(Filename(String(name)), in: found.node)
            }
            guard let next else { throw VolumeError(ENOENT, path) }
            references.append(next.node)
            found = (next.node, next.attributes.record)
        }
        return try body(found)
    }

    private func inFolder<T>(
        _ path: String, _ body: (NodeID, Filename) throws(VolumeError) -> T
    ) throws(VolumeError) -> T {
        let (folder, name) = Model.split(path)
        return try at(folder) { found throws(VolumeError) in
            guard found.record.isFolder else { throw VolumeError(ENOTDIR, path) }
            return try body(found.node, Filename(name))
        }
    }

    private func lookUp(_ name: Filename, in folder: NodeID) throws(VolumeError) -> InodeRecord? {
        guard let found = try ready({ () throws(VolumeError) in try volume.lookUp(name, in: folder) }) else {
            return nil
        }
        volume.forget(found.node, count: 1)
        return found.attributes.record
    }

    // MARK: Open files

    /// As open(2) with O_NOFOLLOW; keeps a reference on the node.
    private func open(_ path: String, flags: Int32) throws(VolumeError) -> Slot {
        for attempt in 0... {
            do throws(VolumeError) {
                return try inFolder(path) { folder, name throws(VolumeError) in
                    guard let found = try ready({ () throws(VolumeError) in try volume.lookUp(name, in: folder) })
                    else {
                        guard flags & O_CREAT != 0 else { throw VolumeError(ENOENT, path) }
                        let (made, opened) = try ready { () throws(VolumeError) in
                            try volume.create(name, in: folder, mode: 0o644, uid: 1_000, gid: 1_000)
                        }
                        return Slot(node: made.node, opened: opened, isWritable: true)
                    }
                    do throws(VolumeError) {
                        if found.attributes.record.isFolder { throw VolumeError(EISDIR, path) }
                        if found.attributes.record.kind == .link { throw VolumeError(ELOOP, path) }
                        let opened = try volume.open(found.node, flags: flags & ~O_CREAT)
                        return Slot(node: found.node, opened: opened, isWritable: flags & O_ACCMODE != O_RDONLY)
                    } catch {
                        volume.forget(found.node, count: 1)
                        throw error
                    }
                }
            } catch {
                // As the kernel does: look the name up again.
                if error.errno != ESTALE || attempt == 3 { throw error }
            }
        }
        throw VolumeError(ESTALE, path)
    }

    private func size(_ slot: Slot) throws(VolumeError) -> Int64 { try volume.attributes(of: slot.node).record.size }

    private func read(_ slot: Slot) throws(VolumeError) -> [UInt8] {
        if case .passthrough(let id) = slot.opened.mode { return life.backing.read(id) }
        // As the kernel does: never beyond the size that stat shows.
        let size = Int(try size(slot))
        var bytes: [UInt8] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 8_192, alignment: 16)
        defer { buffer.deallocate() }
        while bytes.count < size {
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(8_192, size - bytes.count)])
            let offset = Int64(bytes.count)
            let count = try ready { () throws(VolumeError) in
                try volume.read(slot.opened.handle, into: part, at: offset)
            }
            if count == 0 { break }
            bytes += part[..<count]
        }
        return bytes
    }

    private func write(_ slot: Slot, _ bytes: [UInt8], at offset: Int) throws(VolumeError) {
        if bytes.isEmpty { return }
        if case .passthrough(let id) = slot.opened.mode {
            guard life.backing.write(id, bytes, at: offset) else { throw VolumeError(EIO, "passthrough") }
            return
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        defer { buffer.deallocate() }
        buffer.copyBytes(from: bytes)
        try volume.write(slot.opened.handle, UnsafeRawBufferPointer(buffer), at: Int64(offset))
    }

    private func close(_ slot: Slot) throws(VolumeError) {
        defer {
            volume.close(slot.opened.handle)
            volume.forget(slot.node, count: 1)
        }
        if slot.isWritable { try volume.flush(slot.opened.handle) }
    }

    private func slot(_ number: Int) throws(VolumeError) -> Slot {
        guard let slot = slots[number] else { throw VolumeError(EBADF, "slot \(number)") }
        return slot
    }

    // MARK: Operations

    private func carryOut(_ operation: Operation) throws(VolumeError) -> Answer {
        let (paths, numbers) = (operation.paths, operation.numbers)
        switch operation.verb {
        case .open:
            if slots[numbers[0]] != nil { throw VolumeError(EMFILE, "slot") }
            let flags = [O_RDONLY, O_RDWR, O_RDWR | O_CREAT, O_RDWR | O_CREAT | O_TRUNC][numbers[1] % 4]
            slots[numbers[0]] = try open(paths[0], flags: flags)
        case .read: return .bytes(try read(try slot(numbers[0])))
        case .write, .truncateOpen, .punch, .allocate, .copy: try change(operation)
        case .sync: try volume.synchronize(try slot(numbers[0]).opened.handle)
        case .close:
            let slot = try slot(numbers[0])
            slots[numbers[0]] = nil
            try close(slot)
        case .save, .append, .patch: try save(operation)
        case .readAll:
            let slot = try open(paths[0], flags: O_RDONLY)
            defer { try? close(slot) }
            return .bytes(try read(slot))
        case .list: return .names(try list(paths[0]))
        case .unlink, .rmdir, .mkdir, .symlink, .rename, .renameNew, .exchange, .link: try changeNames(operation)
        case .truncate, .chmod, .touch, .setAttribute, .removeAttribute: try changeAttributes(operation)
        case .replace:
            let temporary = Model.temporary(paths[0])
            try save(Operation(.save, [temporary], numbers))
            do throws(VolumeError) { try rename(temporary, paths[0], noReplace: false) } catch {
                try changeNames(Operation(.unlink, [temporary]))
                throw error
            }
        case .backup:
            try rename(paths[0], paths[0] + "~", noReplace: false)
            try save(Operation(.save, paths, numbers))
        case .evict, .download, .pin, .unpin: try steer(operation)
        case .pause, .resume:
            try run { [engine] in try await engine.setPaused(operation.verb == .pause) }
        case .hurry: try run { [engine] in _ = try await engine.sync(timeout: 0) }
        default: break
        }
        return .done
    }

    func list(_ path: String) throws(VolumeError) -> [String] {
        try at(path) { found throws(VolumeError) in
            guard found.record.isFolder else { throw VolumeError(ENOTDIR, path) }
            let handle = try ready { () throws(VolumeError) in try volume.openFolder(found.node) }
            defer { volume.closeFolder(handle) }
            return try volume.entries(of: found.node, after: 0, limit: 10_000).map(\.name.string).sorted()
        }
    }

    private func change(_ operation: Operation) throws(VolumeError) {
        let numbers = operation.numbers
        let slot = try slot(numbers[0])
        if operation.verb == .copy {
            let target = try self.slot(numbers[1])
            guard target.isWritable else { throw VolumeError(EBADF, "copy") }
            let (source, goal) = (
                try volume.attributes(of: slot.node).record.id, try volume.attributes(of: target.node).record.id
            )
            if source == goal { throw VolumeError(EINVAL, "copy") }
            let count = Int(try size(slot))
            if count == 0 { return }
            let done = try ready { () throws(VolumeError) in
                try volume.copy(
                    from: slot.opened.handle, at: 0, to: target.opened.handle, at: 0, count: count)
            }
            if done < count { throw VolumeError(EIO, "copied \(done) of \(count)") }
            return
        }
        guard slot.isWritable else { throw VolumeError(operation.verb == .truncateOpen ? EINVAL : EBADF, "read only") }
        switch operation.verb {
        case .write: try write(slot, Contents.bytes(numbers[2], numbers[3]), at: numbers[1])
        case .truncateOpen:
            _ = try volume.setAttributes(
                slot.node, to: AttributeRequest(attributes: AttributeChange(), size: Int64(numbers[1])),
                through: slot.opened.handle)
        default:
            // FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE.
            try volume.allocate(
                slot.opened.handle, mode: operation.verb == .punch ? 3 : 0, offset: Int64(numbers[1]),
                length: Int64(numbers[2]))
        }
    }

    private func save(_ operation: Operation) throws(VolumeError) {
        let numbers = operation.numbers
        let flags =
            switch operation.verb {
            case .save: O_WRONLY | O_CREAT | O_TRUNC
            case .append: O_WRONLY | O_CREAT
            default: O_WRONLY
            }
        let slot = try open(operation.paths[0], flags: flags)
        do throws(VolumeError) {
            switch operation.verb {
            case .save: try write(slot, Contents.bytes(numbers[0], numbers[1]), at: 0)
            case .append: try write(slot, Contents.bytes(numbers[0], numbers[1]), at: Int(try size(slot)))
            default: try write(slot, Contents.bytes(numbers[1], numbers[2]), at: numbers[0])
            }
        } catch {
            try? close(slot)
            throw error
        }
        try close(slot)
    }

    // MARK: Names and attributes

    private func changeNames(_ operation: Operation) throws(VolumeError) {
        let paths = operation.paths
        switch operation.verb {
        case .rename: return try rename(paths[0], paths[1], noReplace: false)
        case .renameNew: return try rename(paths[0], paths[1], noReplace: true)
        case .exchange:
            return try inFolder(paths[0]) { folder, name throws(VolumeError) in
                try inFolder(paths[1]) { newFolder, newName throws(VolumeError) in
                    guard try lookUp(name, in: folder) != nil, try lookUp(newName, in: newFolder) != nil else {
                        throw VolumeError(ENOENT, paths[0])
                    }
                    if Self.areNested(paths[0], paths[1]) { throw VolumeError(EINVAL, paths[0]) }
                    try ready { () throws(VolumeError) in
                        try volume.exchange(name, in: folder, with: newName, in: newFolder)
                    }
                }
            }
        case .link:
            return try at(paths[0]) { found throws(VolumeError) in
                try inFolder(paths[1]) { folder, name throws(VolumeError) in
                    // The kernel checks both before the request.
                    if try lookUp(name, in: folder) != nil { throw VolumeError(EEXIST, paths[1]) }
                    if found.record.isFolder { throw VolumeError(EPERM, paths[0]) }
                    let made = try ready { () throws(VolumeError) in
                        try volume.link(found.node, to: name, in: folder)
                    }
                    volume.forget(made.node, count: 1)
                }
            }
        default: break
        }
        try inFolder(paths[0]) { folder, name throws(VolumeError) in
            let found = try lookUp(name, in: folder)
            switch operation.verb {
            case .unlink:
                guard let found else { throw VolumeError(ENOENT, paths[0]) }
                if found.isFolder { throw VolumeError(EISDIR, paths[0]) }
                try ready { () throws(VolumeError) in try volume.unlink(name, in: folder) }
            case .rmdir:
                guard let found else { throw VolumeError(ENOENT, paths[0]) }
                if !found.isFolder { throw VolumeError(ENOTDIR, paths[0]) }
                try ready { () throws(VolumeError) in try volume.removeFolder(name, in: folder) }
            default:
                if found != nil { throw VolumeError(EEXIST, paths[0]) }
                let made = try ready { () throws(VolumeError) in
                    operation.verb == .mkdir
                        ? try volume.makeFolder(name, in: folder, mode: 0o755, uid: 1_000, gid: 1_000)
                        : try volume.makeLink(
                            name, in: folder, target: Contents.bytes(operation.numbers[0], 8), uid: 1_000, gid: 1_000)
                }
                volume.forget(made.node, count: 1)
            }
        }
    }

    private static func areNested(_ path: String, _ other: String) -> Bool {
        path != other && ((path + "/").hasPrefix(other + "/") || (other + "/").hasPrefix(path + "/"))
    }

    private func rename(_ path: String, _ newPath: String, noReplace: Bool) throws(VolumeError) {
        try inFolder(path) { folder, name throws(VolumeError) in
            try inFolder(newPath) { newFolder, newName throws(VolumeError) in
                guard let source = try lookUp(name, in: folder) else { throw VolumeError(ENOENT, path) }
                let target = try lookUp(newName, in: newFolder)
                if noReplace && target != nil { throw VolumeError(EEXIST, newPath) }
                // Errors that the kernel returns itself, in its order.
                if Self.areNested(path, newPath) {
                    if source.isFolder && (newPath + "/").hasPrefix(path + "/") { throw VolumeError(EINVAL, path) }
                    if target?.isFolder == true { throw VolumeError(ENOTEMPTY, newPath) }
                }
                if let target, target.id == source.id { return }
                if let target, source.isFolder && !target.isFolder { throw VolumeError(ENOTDIR, newPath) }
                if let target, !source.isFolder && target.isFolder { throw VolumeError(EISDIR, newPath) }
                try ready { () throws(VolumeError) in
                    try volume.rename(name, in: folder, to: newName, in: newFolder, noReplace: noReplace)
                }
            }
        }
    }

    private func changeAttributes(_ operation: Operation) throws(VolumeError) {
        let numbers = operation.numbers
        try at(operation.paths[0]) { found throws(VolumeError) in
            let record = found.record
            func set(_ change: AttributeChange, size: Int64? = nil) throws(VolumeError) {
                _ = try volume.setAttributes(found.node, to: AttributeRequest(attributes: change, size: size))
            }
            switch operation.verb {
            case .truncate:
                if record.isFolder { throw VolumeError(EISDIR, operation.paths[0]) }
                if record.kind == .link { throw VolumeError(ELOOP, operation.paths[0]) }
                try set(AttributeChange(), size: Int64(numbers[0]))
            case .chmod: try set(AttributeChange(mode: UInt32(numbers[0])))
            case .touch: try set(AttributeChange(modified: FileTime(seconds: Int64(numbers[0]))))
            default:
                // The kernel refuses other files, xattr(7).
                if record.kind == .link { throw VolumeError(EPERM, operation.paths[0]) }
                let name = Array(Model.attributeNames[numbers[0] % 2].utf8)
                if operation.verb == .removeAttribute {
                    try volume.removeExtendedAttribute(name, of: found.node)
                } else {
                    try volume.setExtendedAttribute(
                        name, to: Contents.bytes(numbers[1], numbers[2]), of: found.node, presence: .any)
                }
            }
        }
    }

    private func steer(_ operation: Operation) throws(VolumeError) {
        try at(operation.paths[0]) { found throws(VolumeError) in
            let inode = found.record.id
            switch operation.verb {
            case .evict: do { _ = try engine.evict(inode) } catch { throw VolumeError(error) }
            case .download: try run { [engine] in _ = try await engine.download(inode) }
            default:
                let item = try? life.catalog.read { try $0.item(of: inode) }
                guard let item else { return }
                try run { [engine] in try await engine.setPinned(item.id, operation.verb == .pin) }
            }
        }
    }
}

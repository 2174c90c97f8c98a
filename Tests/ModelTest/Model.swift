import Glibc

/// The expected state of a mount: a tree of files by POSIX, in memory. It has no store, no network and no time.
///
/// Unchecked: one thread alone uses it (see ``Schedule``).
final class Model: @unchecked Sendable {
    struct Slot {
        var file: ModelFile
        var isWritable: Bool
        var hasWritten = false
    }
    struct Failure: Error { var number: Int32 }

    private(set) var root = ModelFile(.folder, mode: 0o755)
    var slots: [Int: Slot] = [:]

    static let attributeNames = ["user.one", "user.two"]

    /// Performs a program's operation, and returns the expected answer.
    func perform(_ operation: Operation) -> Answer {
        do throws(Failure) { return try carryOut(operation) } catch { return .failed(error.number) }
    }

    /// Takes over the mount's tree, after it was found right: names mean these files now.
    func adopt(_ root: ModelFile) { self.root = root }

    // MARK: Paths

    static func split(_ path: String) -> (folder: String, name: String) {
        let names = path.split(separator: "/")
        return (names.dropLast().joined(separator: "/"), names.last.map(String.init) ?? "")
    }

    func file(_ path: String) throws(Failure) -> ModelFile {
        var file = root
        for name in path.split(separator: "/") {
            guard file.isFolder else { throw Failure(number: ENOTDIR) }
            guard let next = file.children[String(name)] else { throw Failure(number: ENOENT) }
            file = next
        }
        return file
    }

    private func place(_ path: String) throws(Failure) -> (folder: ModelFile, name: String) {
        let (above, name) = Self.split(path)
        let folder = try file(above)
        guard folder.isFolder else { throw Failure(number: ENOTDIR) }
        return (folder, name)
    }

    private func document(_ path: String) throws(Failure) -> ModelFile {
        let file = try file(path)
        if file.isFolder { throw Failure(number: EISDIR) }
        if file.kind == .link { throw Failure(number: ELOOP) }
        return file
    }

    private func add(_ file: ModelFile, _ path: String) throws(Failure) {
        let (folder, name) = try place(path)
        if folder.children[name] != nil { throw Failure(number: EEXIST) }
        folder.children[name] = file
        file.names += 1
    }

    private func drop(_ file: ModelFile) {
        file.names -= 1
        if file.names == 0 { file.isUnlinked = true }
    }

    // MARK: Operations

    private func carryOut(_ operation: Operation) throws(Failure) -> Answer {
        let (paths, numbers) = (operation.paths, operation.numbers)
        switch operation.verb {
        case .open: try open(paths[0], slot: numbers[0], kind: numbers[1])
        case .read: return .bytes(try slot(numbers[0]).file.bytes)
        case .write, .truncateOpen, .punch, .allocate, .copy: try change(operation)
        case .sync: saved(try slot(numbers[0]).file)
        case .close:
            let closed = try slot(numbers[0])
            if closed.isWritable { saved(closed.file) }
            slots[numbers[0]] = nil
        case .save, .append, .patch: return try save(operation)
        case .truncate:
            let file = try document(paths[0])
            file.bytes = Self.changed(file.bytes, by: operation) ?? file.bytes
            file.modified = nil
        case .readAll: return .bytes(try document(paths[0]).bytes)
        case .list:
            let folder = try file(paths[0])
            guard folder.isFolder else { throw Failure(number: ENOTDIR) }
            return .names(folder.children.keys.sorted())
        case .mkdir: try add(ModelFile(.folder, mode: 0o755), paths[0])
        case .symlink: try add(ModelFile(.link, Contents.bytes(numbers[0], 8), mode: 0o777), paths[0])
        case .rmdir: try removeFolder(paths[0])
        case .unlink: try unlink(paths[0])
        case .rename: try rename(paths[0], paths[1], noReplace: false)
        case .renameNew: try rename(paths[0], paths[1], noReplace: true)
        case .exchange: try exchange(paths[0], paths[1])
        case .link:
            let file = try file(paths[0])
            if try place(paths[1]).folder.children[place(paths[1]).name] != nil { throw Failure(number: EEXIST) }
            if file.isFolder { throw Failure(number: EPERM) }
            try add(file, paths[1])
        case .chmod: try file(paths[0]).mode = UInt32(numbers[0])
        case .touch: try file(paths[0]).modified = Int64(numbers[0])
        case .setAttribute:
            let file = try file(paths[0])
            if file.kind == .link { throw Failure(number: EPERM) }
            file.attributes[Self.attributeNames[numbers[0] % 2]] = Contents.bytes(numbers[1], numbers[2])
        case .removeAttribute:
            let file = try file(paths[0])
            if file.kind == .link { throw Failure(number: EPERM) }
            guard file.attributes.removeValue(forKey: Self.attributeNames[numbers[0] % 2]) != nil else {
                throw Failure(number: ENODATA)
            }
        case .replace: try replace(operation)
        case .backup:
            try rename(paths[0], paths[0] + "~", noReplace: false)
            return try save(Operation(.save, paths, numbers))
        default: break
        }
        return .done
    }

    private func slot(_ number: Int) throws(Failure) -> Slot {
        guard let slot = slots[number] else { throw Failure(number: EBADF) }
        return slot
    }

    private func open(_ path: String, slot: Int, kind: Int) throws(Failure) {
        if slots[slot] != nil { throw Failure(number: EMFILE) }
        let file: ModelFile
        do throws(Failure) { file = try self.file(path) } catch {
            guard error.number == ENOENT, kind >= 2 else { throw error }
            file = ModelFile(.document, mode: 0o644)
            try add(file, path)
        }
        if file.isFolder && kind > 0 { throw Failure(number: EISDIR) }
        if file.isFolder { throw Failure(number: EISDIR) }
        if file.kind == .link { throw Failure(number: ELOOP) }
        if kind == 3 { (file.bytes, file.modified) = ([], nil) }
        slots[slot] = Slot(file: file, isWritable: kind > 0)
    }

    static func resize(_ bytes: inout [UInt8], _ size: Int) {
        if bytes.count > size {
            bytes.removeLast(bytes.count - size)
        } else {
            bytes += [UInt8](repeating: 0, count: size - bytes.count)
        }
    }

    static func put(_ new: [UInt8], into bytes: inout [UInt8], at offset: Int) {
        if new.isEmpty { return }
        if bytes.count < offset + new.count { resize(&bytes, offset + new.count) }
        bytes.replaceSubrange(offset..<offset + new.count, with: new)
    }

    private func change(_ operation: Operation) throws(Failure) {
        let numbers = operation.numbers
        let slot = try slot(numbers[0])
        let file = slot.file
        if operation.verb == .copy {
            let target = try self.slot(numbers[1])
            guard target.isWritable else { throw Failure(number: EBADF) }
            if target.file === file { throw Failure(number: EINVAL) }
            Self.put(file.bytes, into: &target.file.bytes, at: 0)
            if !file.bytes.isEmpty { written(numbers[1]) }
            return
        }
        guard slot.isWritable else { throw Failure(number: operation.verb == .truncateOpen ? EINVAL : EBADF) }
        let size = file.bytes.count
        switch operation.verb {
        case .write: Self.put(Contents.bytes(numbers[2], numbers[3]), into: &file.bytes, at: numbers[1])
        case .truncateOpen: Self.resize(&file.bytes, numbers[1])
        case .punch:
            let end = min(file.bytes.count, numbers[1] + numbers[2])
            if numbers[1] < end {
                file.bytes.replaceSubrange(numbers[1]..<end, with: repeatElement(0, count: end - numbers[1]))
            }
        default: if file.bytes.count < numbers[1] + numbers[2] { Self.resize(&file.bytes, numbers[1] + numbers[2]) }
        }
        // (In a placeholder whose version is gone, a hole beyond its end keeps nothing, nor does an allocation of
        // allocated space.)
        let changes =
            switch operation.verb {
            case .punch: numbers[1] < file.bytes.count
            case .write: numbers[3] > 0
            case .allocate: file.bytes.count != size
            default: true
            }
        written(numbers[0], changes: changes)
    }

    /// One opener has closed or synced the file, which counts for all.
    private func saved(_ file: ModelFile) {
        file.isUnsaved = false
        for (number, slot) in slots where slot.file === file { slots[number]?.hasWritten = false }
    }

    private func written(_ slot: Int, changes: Bool = true) {
        if changes { slots[slot]?.hasWritten = true }
        slots[slot]?.file.isUnsaved = true
        slots[slot]?.file.modified = nil
    }

    /// The contents after a call that opens by path, writes and closes; nil: another call.
    static func changed(_ bytes: [UInt8], by operation: Operation) -> [UInt8]? {
        let numbers = operation.numbers
        var bytes = bytes
        switch operation.verb {
        case .save: bytes = Contents.bytes(numbers[0], numbers[1])
        case .append: bytes += Contents.bytes(numbers[0], numbers[1])
        case .patch: put(Contents.bytes(numbers[1], numbers[2]), into: &bytes, at: numbers[0])
        case .truncate: resize(&bytes, numbers[0])
        default: return nil
        }
        return bytes
    }

    /// As a shell's `>` (save), `>>` (append), and a write in the middle (patch).
    private func save(_ operation: Operation) throws(Failure) -> Answer {
        let path = operation.paths[0]
        let file: ModelFile
        do throws(Failure) { file = try document(path) } catch {
            guard error.number == ENOENT, operation.verb != .patch else { throw error }
            file = ModelFile(.document, mode: 0o644)
            try add(file, path)
        }
        file.bytes = Self.changed(file.bytes, by: operation) ?? file.bytes
        (file.isUnsaved, file.modified) = (false, nil)
        return .done
    }

    /// As a program that saves to a temporary file and renames it.
    private func replace(_ operation: Operation) throws(Failure) {
        let temporary = Self.temporary(operation.paths[0])
        _ = try save(Operation(.save, [temporary], operation.numbers))
        do throws(Failure) { try rename(temporary, operation.paths[0], noReplace: false) } catch {
            try unlink(temporary)
            throw error
        }
    }

    static func temporary(_ path: String) -> String {
        let (folder, name) = split(path)
        return (folder.isEmpty ? "" : folder + "/") + name + ".new"
    }

    private func unlink(_ path: String) throws(Failure) {
        let (folder, name) = try place(path)
        guard let file = folder.children[name] else { throw Failure(number: ENOENT) }
        if file.isFolder { throw Failure(number: EISDIR) }
        folder.children[name] = nil
        drop(file)
    }

    private func removeFolder(_ path: String) throws(Failure) {
        let (folder, name) = try place(path)
        guard let file = folder.children[name] else { throw Failure(number: ENOENT) }
        guard file.isFolder else { throw Failure(number: ENOTDIR) }
        guard file.children.isEmpty else { throw Failure(number: ENOTEMPTY) }
        folder.children[name] = nil
        drop(file)
    }

    /// rename(2), with Linux's order of checks.
    private func rename(_ path: String, _ newPath: String, noReplace: Bool) throws(Failure) {
        let (from, to) = (try place(path), try place(newPath))
        guard let source = from.folder.children[from.name] else { throw Failure(number: ENOENT) }
        let target = to.folder.children[to.name]
        if noReplace && target != nil { throw Failure(number: EEXIST) }
        if source.isFolder && (newPath + "/").hasPrefix(path + "/") && newPath != path {
            throw Failure(number: EINVAL)
        }
        if let target, target.isFolder, (path + "/").hasPrefix(newPath + "/"), newPath != path {
            throw Failure(number: ENOTEMPTY)
        }
        if target === source { return }
        if let target {
            if source.isFolder && !target.isFolder { throw Failure(number: ENOTDIR) }
            if !source.isFolder && target.isFolder { throw Failure(number: EISDIR) }
            guard target.children.isEmpty else { throw Failure(number: ENOTEMPTY) }
            drop(target)
        }
        from.folder.children[from.name] = nil
        to.folder.children[to.name] = source
    }

    private func exchange(_ path: String, _ newPath: String) throws(Failure) {
        let (from, to) = (try place(path), try place(newPath))
        guard let source = from.folder.children[from.name], let target = to.folder.children[to.name] else {
            throw Failure(number: ENOENT)
        }
        if path != newPath, (path + "/").hasPrefix(newPath + "/") || (newPath + "/").hasPrefix(path + "/") {
            throw Failure(number: EINVAL)
        }
        from.folder.children[from.name] = target
        to.folder.children[to.name] = source
    }
}

import CLinux
import Glibc

/// Programs at a real mount: the system calls of an ``Operation``.
final class SystemCalls {
    private let root: String
    private var slots: [Int: (descriptor: Int32, isWritable: Bool)] = [:]
    private struct Failure: Error { var number: Int32 }

    init(_ root: String) { self.root = root }

    func perform(_ operation: Operation) -> Answer {
        do throws(Failure) { return try carryOut(operation) } catch { return .failed(error.number) }
    }

    /// Like the end of all processes with open files.
    func closeAll() {
        for slot in slots.values { Glibc.close(slot.descriptor) }
        slots = [:]
    }

    private func path(_ path: String) -> String { path.isEmpty ? root : root + "/" + path }
    private func check(_ result: Int) throws(Failure) { if result < 0 { throw Failure(number: errno) } }
    private func check(_ result: Int32) throws(Failure) { try check(Int(result)) }

    private func slot(_ number: Int) throws(Failure) -> (descriptor: Int32, isWritable: Bool) {
        guard let slot = slots[number] else { throw Failure(number: EBADF) }
        return slot
    }

    private func open(_ name: String, _ flags: Int32) throws(Failure) -> Int32 {
        let descriptor = Glibc.open(path(name), flags | O_NOFOLLOW | O_CLOEXEC, 0o644)
        try check(descriptor)
        var status = stat()
        if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            Glibc.close(descriptor)
            throw Failure(number: EISDIR)
        }
        return descriptor
    }

    private func size(_ descriptor: Int32) throws(Failure) -> Int {
        var status = stat()
        try check(fstat(descriptor, &status))
        return Int(status.st_size)
    }

    private func read(_ descriptor: Int32) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 8_192)
        while true {
            let count = pread(descriptor, &piece, piece.count, off_t(bytes.count))
            try check(count)
            if count == 0 { return bytes }
            bytes += piece[..<count]
        }
    }

    private func write(_ descriptor: Int32, _ bytes: [UInt8], _ offset: Int) throws(Failure) {
        if bytes.isEmpty { return }
        let count = pwrite(descriptor, bytes, bytes.count, off_t(offset))
        try check(count)
        if count < bytes.count { throw Failure(number: EIO) }
    }

    private func carryOut(_ operation: Operation) throws(Failure) -> Answer {
        let (paths, numbers) = (operation.paths.map(path), operation.numbers)
        switch operation.verb {
        case .open:
            if slots[numbers[0]] != nil { throw Failure(number: EMFILE) }
            let flags = [O_RDONLY, O_RDWR, O_RDWR | O_CREAT, O_RDWR | O_CREAT | O_TRUNC][numbers[1] % 4]
            slots[numbers[0]] = (try open(operation.paths[0], flags), numbers[1] % 4 > 0)
        case .read: return .bytes(try read(try slot(numbers[0]).descriptor))
        case .write:
            try write(try slot(numbers[0]).descriptor, Contents.bytes(numbers[2], numbers[3]), numbers[1])
            // pwrite(2) is not called for no bytes.
            if try !slot(numbers[0]).isWritable { throw Failure(number: EBADF) }
        case .truncateOpen: try check(ftruncate(try slot(numbers[0]).descriptor, off_t(numbers[1])))
        case .punch, .allocate:
            let mode: Int32 = operation.verb == .punch ? 3 : 0
            let descriptor = try slot(numbers[0]).descriptor
            try check(clinux_allocate(descriptor, mode, Int64(numbers[1]), Int64(numbers[2])))
        case .copy:
            let (source, target) = (try slot(numbers[0]), try slot(numbers[1]))
            try copy(source.descriptor, target)
        case .sync: try check(fsync(try slot(numbers[0]).descriptor))
        case .close:
            let slot = try slot(numbers[0])
            slots[numbers[0]] = nil
            try check(Glibc.close(slot.descriptor))
        case .save, .append, .patch: try save(operation)
        case .truncate:
            let descriptor = try open(operation.paths[0], O_WRONLY)
            defer { Glibc.close(descriptor) }
            try check(ftruncate(descriptor, off_t(numbers[0])))
        case .readAll:
            let descriptor = try open(operation.paths[0], O_RDONLY)
            defer { Glibc.close(descriptor) }
            return .bytes(try read(descriptor))
        case .list:
            let descriptor = Glibc.open(paths[0], O_RDONLY | O_DIRECTORY)
            try check(descriptor)
            Glibc.close(descriptor)
            return .names(Files.names(paths[0]).sorted())
        case .mkdir: try check(mkdir(paths[0], 0o755))
        case .symlink:
            try check(symlink(String(decoding: Contents.bytes(numbers[0], 8), as: UTF8.self), paths[0]))
        case .rmdir: try check(rmdir(paths[0]))
        case .unlink: try check(unlink(paths[0]))
        case .rename: try check(rename(paths[0], paths[1]))
        case .renameNew: try check(clinux_renameat2(AT_FDCWD, paths[0], AT_FDCWD, paths[1], 1))
        case .exchange: try check(clinux_renameat2(AT_FDCWD, paths[0], AT_FDCWD, paths[1], 2))
        case .link: try check(link(paths[0], paths[1]))
        case .chmod: try check(chmod(paths[0], mode_t(numbers[0])))
        case .touch:
            var times = [timespec(tv_sec: numbers[0], tv_nsec: 0), timespec(tv_sec: numbers[0], tv_nsec: 0)]
            try check(utimensat(AT_FDCWD, paths[0], &times, AT_SYMLINK_NOFOLLOW))
        case .setAttribute:
            let value = Contents.bytes(numbers[1], numbers[2])
            try check(lsetxattr(paths[0], Model.attributeNames[numbers[0] % 2], value, value.count, 0))
        case .removeAttribute: try check(lremovexattr(paths[0], Model.attributeNames[numbers[0] % 2]))
        case .replace:
            let temporary = Model.temporary(operation.paths[0])
            try save(Operation(.save, [temporary], numbers))
            do throws(Failure) { try check(rename(path(temporary), paths[0])) } catch {
                try check(unlink(path(temporary)))
                throw error
            }
        case .backup:
            try check(rename(paths[0], paths[0] + "~"))
            try save(Operation(.save, operation.paths, numbers))
        default: break
        }
        return .done
    }

    private func save(_ operation: Operation) throws(Failure) {
        let numbers = operation.numbers
        let flags =
            switch operation.verb {
            case .save: O_WRONLY | O_CREAT | O_TRUNC
            case .append: O_WRONLY | O_CREAT | O_APPEND
            default: O_WRONLY
            }
        let descriptor = try open(operation.paths[0], flags)
        do throws(Failure) {
            switch operation.verb {
            case .save: try write(descriptor, Contents.bytes(numbers[0], numbers[1]), 0)
            case .append: try write(descriptor, Contents.bytes(numbers[0], numbers[1]), try size(descriptor))
            default: try write(descriptor, Contents.bytes(numbers[1], numbers[2]), numbers[0])
            }
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        try check(Glibc.close(descriptor))
    }

    private func copy(_ source: Int32, _ target: (descriptor: Int32, isWritable: Bool)) throws(Failure) {
        guard target.isWritable else { throw Failure(number: EBADF) }
        var (one, other) = (stat(), stat())
        try check(fstat(source, &one))
        try check(fstat(target.descriptor, &other))
        if one.st_ino == other.st_ino { throw Failure(number: EINVAL) }
        var done = 0
        while done < Int(one.st_size) {
            let count = clinux_copy_range(
                source, Int64(done), target.descriptor, Int64(done), Int(one.st_size) - done)
            try check(count)
            if count == 0 { throw Failure(number: EIO) }
            done += count
        }
    }
}

import Glibc

/// A directory, through plain system calls. They hang on a mount that hangs: call them on a scenario's thread.
package struct RealFileSystem: FileSystemUnderTest {
    package let root: String
    package init(root: String) { self.root = root }

    /// Swift's Glibc does not have it.
    private static let renameat2 = unsafeBitCast(
        dlsym(nil, "renameat2"),
        to: (@convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32).self)

    private static let setxattr = unsafeBitCast(
        dlsym(nil, "setxattr"),
        to: (@convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeRawPointer, Int, Int32) -> Int32).self)

    private func with<T>(_ path: FSPath, _ call: String, _ body: (UnsafePointer<CChar>) -> T?) throws(FSError) -> T {
        let bytes = Array(root.utf8) + [UInt8(ascii: "/")] + path.bytes + [0]
        let result = bytes.withUnsafeBufferPointer { buffer in
            buffer.withMemoryRebound(to: CChar.self) { body($0.baseAddress!) }
        }
        guard let result else { throw FSError(errno, "\(call) \(path)") }
        return result
    }

    /// For calls that return 0 or -1.
    private func check(_ path: FSPath, _ call: String, _ body: (UnsafePointer<CChar>) -> Int32) throws(FSError) {
        try with(path, call) { body($0) == 0 ? () : nil }
    }

    package func list(_ folder: FSPath) throws(FSError) -> [[UInt8]] {
        let stream = try with(folder, "opendir") { opendir($0) }
        defer { closedir(stream) }
        var names: [[UInt8]] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: UInt8.self, capacity: 256) { bytes in
                    Array(UnsafeBufferPointer(start: bytes, count: 256).prefix { $0 != 0 })
                }
            }
            // (Apache's own folder in each folder that it serves is not a document.)
            if name != [0x2e] && name != [0x2e, 0x2e] && name != Array(".DAV".utf8) { names.append(name) }
        }
        guard errno == 0 else { throw FSError(errno, "readdir \(folder)") }
        return names
    }

    package func stat(_ path: FSPath) throws(FSError) -> FSStat {
        FSStat(
            try with(path, "lstat") { path in
                var status = Glibc.stat()
                return lstat(path, &status) == 0 ? status : nil
            })
    }

    private func opened<T>(_ path: FSPath, _ flags: Int32, _ body: (Int32) throws(FSError) -> T) throws(FSError) -> T {
        let descriptor = try with(path, "open") { path in
            let descriptor = open(path, flags | O_CLOEXEC, 0o644)
            return descriptor < 0 ? nil : descriptor
        }
        let result: T
        do { result = try body(descriptor) } catch {
            close(descriptor)
            throw error
        }
        guard close(descriptor) == 0 else { throw FSError(errno, "close \(path)") }
        return result
    }

    package func read(_ path: FSPath, at offset: Int64, _ count: Int) throws(FSError) -> [UInt8] {
        try opened(path, O_RDONLY) { descriptor throws(FSError) in
            var bytes = [UInt8](repeating: 0, count: count)
            var done = 0
            while done < count {
                let number = bytes.withUnsafeMutableBytes { buffer in
                    pread(descriptor, buffer.baseAddress! + done, count - done, off_t(offset) + done)
                }
                if number < 0 { throw FSError(errno, "read \(path)") }
                if number == 0 { break }
                done += number
            }
            return Array(bytes.prefix(done))
        }
    }

    package func write(_ path: FSPath, _ bytes: [UInt8], at offset: Int64?, flags: Int32) throws(FSError) {
        try opened(path, O_WRONLY | flags) { descriptor throws(FSError) in
            var done = 0
            while done < bytes.count {
                let number = bytes.withUnsafeBytes { buffer in
                    offset.map { pwrite(descriptor, buffer.baseAddress! + done, bytes.count - done, off_t($0) + done) }
                        ?? Glibc.write(descriptor, buffer.baseAddress! + done, bytes.count - done)
                }
                if number < 0 { throw FSError(errno, "write \(path)") }
                done += number
            }
        }
    }

    package func synchronize(_ path: FSPath) throws(FSError) {
        try opened(path, O_WRONLY) { descriptor throws(FSError) in
            guard fsync(descriptor) == 0 else { throw FSError(errno, "fsync \(path)") }
        }
    }

    package func truncate(_ path: FSPath, to size: Int64) throws(FSError) {
        try check(path, "truncate") { Glibc.truncate($0, off_t(size)) }
    }

    package func chmod(_ path: FSPath, _ mode: UInt32) throws(FSError) {
        try check(path, "chmod") { Glibc.chmod($0, mode) }
    }

    package func setModified(_ path: FSPath, _ nanoseconds: Int64) throws(FSError) {
        let moment = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        let times = [timespec(tv_sec: 0, tv_nsec: (1 << 30) - 2 /* UTIME_OMIT */), moment]
        try check(path, "utimensat") { utimensat(AT_FDCWD, $0, times, AT_SYMLINK_NOFOLLOW) }
    }

    package func rename(_ path: FSPath, to newPath: FSPath, noReplace: Bool) throws(FSError) {
        let to = Array(root.utf8) + [UInt8(ascii: "/")] + newPath.bytes + [0]
        try check(path, "rename to \(newPath),") { from in
            to.withUnsafeBufferPointer { to in
                to.withMemoryRebound(to: CChar.self) { to in
                    Self.renameat2(AT_FDCWD, from, AT_FDCWD, to.baseAddress!, noReplace ? 1 : 0)
                }
            }
        }
    }

    package func unlink(_ path: FSPath) throws(FSError) { try check(path, "unlink") { Glibc.unlink($0) } }
    package func mkdir(_ path: FSPath, _ mode: UInt32) throws(FSError) {
        try check(path, "mkdir") { Glibc.mkdir($0, mode) }
    }
    package func rmdir(_ path: FSPath) throws(FSError) { try check(path, "rmdir") { Glibc.rmdir($0) } }

    package func symlink(_ path: FSPath, to target: [UInt8]) throws(FSError) {
        let target = target.map { CChar(bitPattern: $0) } + [0]
        try check(path, "symlink") { Glibc.symlink(target, $0) }
    }

    package func readlink(_ path: FSPath) throws(FSError) -> [UInt8] {
        try with(path, "readlink") { path in
            var buffer = [UInt8](repeating: 0, count: 4_096)
            let count = buffer.withUnsafeMutableBytes {
                Glibc.readlink(path, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
            }
            return count < 0 ? nil : Array(buffer.prefix(count))
        }
    }

    package func hardLink(_ path: FSPath, to newPath: FSPath) throws(FSError) {
        let to = root + "/" + newPath.description
        try check(path, "link to \(newPath),") { Glibc.link($0, to) }
    }

    package func setAttribute(_ name: String, to value: [UInt8], of path: FSPath) throws(FSError) {
        try check(path, "setxattr") { Self.setxattr($0, name, value, value.count, 0) }
    }

    package func limits() throws(FSError) -> (longestName: Int, blocks: UInt64) {
        try with(.root, "statvfs") { path in
            var statistics = statvfs()
            return statvfs(path, &statistics) == 0 ? (Int(statistics.f_namemax), UInt64(statistics.f_blocks)) : nil
        }
    }
}

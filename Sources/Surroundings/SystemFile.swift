import Glibc

/// Files of the kernel (proc(5)), whose size is not known before they are read, and what folders list.
package enum SystemFile {
    /// The first bytes of it; nil: it is not there, not ours to read, or empty.
    package static func read(_ path: String, most: Int = .max) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var piece = 4_096
        while bytes.count < most {
            let count = withUnsafeTemporaryAllocation(byteCount: min(piece, most - bytes.count), alignment: 1) {
                buffer in
                let count = Glibc.read(file, buffer.baseAddress!, buffer.count)
                if count > 0 { bytes += buffer[..<count] }
                return count
            }
            if count < 0, errno == EINTR { continue }
            if count <= 0 { break }
            piece = 1 << 16
        }
        return bytes.isEmpty ? nil : bytes
    }

    /// The same as text; empty where there is none.
    package static func text(_ path: String) -> String { String(decoding: read(path) ?? [], as: UTF8.self) }

    /// Where a symbolic link leads; nil: it is none, or cannot be read.
    package static func link(_ path: String) -> String? {
        withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 1) { buffer in
            let count = readlink(path, buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count)
            return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
        }
    }

    /// All names in a folder but `.` and `..`; nil, with errno: it cannot be read.
    package static func names(in folder: String) -> [String]? {
        guard let stream = opendir(folder) else { return nil }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }
}

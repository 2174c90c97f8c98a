import CLinux
import Glibc

/// One file, for the calls of xattr(7).
struct AttributedFile {
    private let path: [UInt8]
    /// Whether the path is that of a descriptor, which is a link of /proc to the file.
    private let isDescriptor: Bool
    /// Keeps the descriptor in the path open.
    private let descriptor: Descriptor

    /// By folder and name, never through a link. The calls take no folder descriptors, but a path through /proc does
    /// the same.
    init(_ name: [UInt8], in folder: Folder) {
        descriptor = folder.descriptor
        path = Array("/proc/self/fd/\(descriptor.number)/".utf8) + name
        isDescriptor = false
    }

    /// The open file, also one that was opened with O_PATH (which fsetxattr(2) refuses).
    init(_ descriptor: Descriptor) {
        self.descriptor = descriptor
        path = Array("/proc/self/fd/\(descriptor.number)".utf8)
        isDescriptor = true
    }

    /// The names of all attributes, in every namespace. Names that are not UTF-8, which no item can have, are left out.
    func names() throws(SystemError) -> [String] {
        let list = try growing("listxattr") { path, buffer, size in
            let names = buffer?.assumingMemoryBound(to: CChar.self)
            return isDescriptor ? listxattr(path, names, size) : llistxattr(path, names, size)
        }
        return list.split(separator: 0).compactMap { String(validating: $0, as: UTF8.self) }
    }

    /// - Throws: ENODATA when the file has no such attribute; ERANGE when the value is longer than `longest`.
    func value(of name: String, upTo longest: Int = .max) throws(SystemError) -> [UInt8] {
        try growing("getxattr", upTo: longest) { path, buffer, size in
            isDescriptor ? getxattr(path, name, buffer, size) : lgetxattr(path, name, buffer, size)
        }
    }

    func set(_ name: String, to value: [UInt8]) throws(SystemError) {
        _ = try check("setxattr") {
            withName(path) { path in
                isDescriptor
                    ? setxattr(path, name, value, value.count, 0)
                    : lsetxattr(path, name, value, value.count, 0)
            }
        }
    }

    func remove(_ name: String) throws(SystemError) {
        _ = try check("removexattr") {
            withName(path) { path in
                isDescriptor ? removexattr(path, name) : lremovexattr(path, name)
            }
        }
    }

    /// Whether the file system keeps user attributes, by the error for a missing one. (An empty list of names does not
    /// tell.)
    var keepsAttributes: Bool {
        do throws(SystemError) { _ = try value(of: Identity.attribute) } catch {
            return error.number == ENODATA || error.number == EACCES
        }
        return true
    }

    /// Most results fit into the first kilobyte; for larger ones this asks for the length, and then for the bytes, and
    /// again if the result grew in between.
    private func growing(
        _ what: StaticString, upTo longest: Int = .max,
        _ call: (UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int
    ) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var number: Int32 = 0
        withName(path) { path in
            withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { buffer in
                let count = call(path, buffer.baseAddress, buffer.count)
                if count > 0 { bytes = Array(buffer[..<count]) }
                number = count < 0 ? errno : 0
            }
            for _ in 0..<8 where number == ERANGE {
                let length = max(1, call(path, nil, 0))
                if length > longest { break }
                bytes = [UInt8](repeating: 0, count: length)
                let count = bytes.withUnsafeMutableBytes { call(path, $0.baseAddress, length) }
                number = count < 0 ? errno : 0
                bytes.removeLast(length - max(0, count))
            }
        }
        if number == 0, bytes.count > longest { number = ERANGE }
        if number != 0 { throw SystemError(number: number, call: what) }
        return bytes
    }
}

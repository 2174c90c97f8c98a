import CLinux
import FileProvider
import Glibc

/// An open folder of the store. Every call on the store's files is relative to such a folder and takes one name, never
/// a path and never a link: this keeps the provider inside its root.
final class Folder: Sendable {
    /// O_PATH: a base for other calls, not readable.
    let descriptor: Descriptor
    let identifier: ItemIdentifier
    /// The names from the root down to it.
    let components: [[UInt8]]
    let status: FileStatus
    private let rootPath: String

    init(
        descriptor: Descriptor, identifier: ItemIdentifier, components: [[UInt8]], status: FileStatus,
        rootPath: String
    ) {
        self.descriptor = descriptor
        self.identifier = identifier
        self.components = components
        self.status = status
        self.rootPath = rootPath
    }

    /// For people.
    func path(of name: [UInt8]? = nil) -> String {
        let names = components + (name.map { [$0] } ?? [])
        return ([rootPath] + names.map { String(decoding: $0, as: UTF8.self) }).joined(separator: "/")
    }

    /// An open folder inside it, without an identifier of its own.
    func inner(_ descriptor: Descriptor, named name: [UInt8], status: FileStatus) -> Folder {
        Folder(
            descriptor: descriptor, identifier: identifier, components: components + [name], status: status,
            rootPath: rootPath)
    }

    private func call(
        _ what: StaticString, on name: [UInt8], _ body: (UnsafePointer<CChar>) -> Int32
    ) throws(FileProviderError) -> Int32 {
        try naming(path(of: name)) { () throws(SystemError) in
            try check(what) { withName(name, body) }
        }
    }

    // MARK: Looking

    /// Nil when nothing has this name.
    func status(of name: [UInt8]) throws(FileProviderError) -> FileStatus? {
        var raw = clinux_status()
        do throws(FileProviderError) {
            _ = try call("statx", on: name) { clinux_status(descriptor.number, $0, false, &raw) }
        } catch {
            if error.errno == ENOENT { return nil }
            throw error
        }
        return FileStatus(raw)
    }

    func open(_ name: [UInt8], _ flags: Int32, mode: mode_t = 0) throws(FileProviderError) -> Descriptor {
        let all = flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        return Descriptor(try call("open", on: name) { openat(descriptor.number, $0, all, mode) })
    }

    /// Opens any file that has the name, not for reading, and never a link's target.
    func openPath(_ name: [UInt8]) throws(FileProviderError) -> Descriptor {
        Descriptor(try call("open", on: name) { clinux_open_path(descriptor.number, $0) })
    }

    /// The folder `name` as a base for other calls; a link of that name is not followed.
    func openFolder(_ name: [UInt8]) throws(FileProviderError) -> Descriptor {
        Descriptor(try call("open", on: name) { clinux_open_folder(descriptor.number, $0, false) })
    }

    /// All names except `.` and `..`.
    func names() throws(FileProviderError) -> [[UInt8]] {
        let number = try naming(path()) { () throws(SystemError) in
            try check("open") { openat(descriptor.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        }
        guard let stream = fdopendir(number) else {
            close(number)
            throw FileProviderError(SystemError(number: ENOMEM, call: "fdopendir"), path: path())
        }
        defer { closedir(stream) }
        var names: [[UInt8]] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            // Not through `entry.pointee`: that copies 256 bytes even where the record is shorter.
            let name = UnsafeRawPointer(entry).advanced(by: MemoryLayout<dirent>.offset(of: \.d_name)!)
            let bytes = UnsafeRawBufferPointer(
                start: name, count: strlen(name.assumingMemoryBound(to: CChar.self)))
            if !bytes.elementsEqual(".".utf8), !bytes.elementsEqual("..".utf8) { names.append(Array(bytes)) }
        }
        if errno != 0 { throw FileProviderError(SystemError(number: errno, call: "readdir"), path: path()) }
        return names
    }

    func target(of name: [UInt8]) throws(FileProviderError) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX) + 1)
        let length = try naming(path(of: name)) { () throws(SystemError) in
            try check("readlink") {
                withName(name) { name in
                    buffer.withUnsafeMutableBytes {
                        readlinkat(
                            descriptor.number, name, $0.baseAddress!.assumingMemoryBound(to: CChar.self),
                            $0.count)
                    }
                }
            }
        }
        return Array(buffer[..<length])
    }

    // MARK: Changing

    func rename(
        _ name: [UInt8], to folder: Folder, as newName: [UInt8], flags: UInt32 = 0
    ) throws(FileProviderError) {
        _ = try call("renameat2", on: name) { from in
            withName(newName) {
                clinux_renameat2(descriptor.number, from, folder.descriptor.number, $0, flags)
            }
        }
    }

    /// A second name for a document; fails when the name is taken.
    func link(_ name: [UInt8], to folder: Folder, as newName: [UInt8]) throws(FileProviderError) {
        _ = try call("linkat", on: newName) { new in
            withName(name) { linkat(descriptor.number, $0, folder.descriptor.number, new, 0) }
        }
    }

    func unlink(_ name: [UInt8]) throws(FileProviderError) {
        _ = try call("unlinkat", on: name) { unlinkat(descriptor.number, $0, 0) }
    }

    func removeFolder(_ name: [UInt8]) throws(FileProviderError) {
        _ = try call("rmdir", on: name) { unlinkat(descriptor.number, $0, Int32(AT_REMOVEDIR)) }
    }

    func makeFolder(_ name: [UInt8], mode: mode_t) throws(FileProviderError) {
        _ = try call("mkdirat", on: name) { mkdirat(descriptor.number, $0, mode) }
    }

    func makeLink(_ name: [UInt8], target: [UInt8]) throws(FileProviderError) {
        _ = try call("symlinkat", on: name) { name in
            withName(target) { symlinkat($0, descriptor.number, name) }
        }
    }

    /// Syncs changed names to disk. Ignores EINVAL from a file system that cannot sync a folder.
    func sync() throws(FileProviderError) {
        do throws(SystemError) {
            let number = try check("open") {
                openat(descriptor.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            }
            try Descriptor(number).sync()
        } catch {
            if error.number != EINVAL { throw FileProviderError(error, path: path()) }
        }
    }
}

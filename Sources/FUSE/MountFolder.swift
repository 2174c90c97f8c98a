internal import CLinux
internal import Glibc
internal import Surroundings

/// The folder to mount on, held open from the check until the mount is seen there.
///
/// A user who may write to a parent folder can replace the folder by a symbolic link at any moment, and mount(2) would
/// follow the link with root's rights.
final class MountFolder {
    /// As the kernel writes it.
    let path: String
    private let descriptor: Int32

    /// Fails with `errno`; ESTALE: the path led to the folder a moment ago, but does not any more.
    ///
    /// - Parameter path: absolute and free of symbolic links.
    init?(_ path: String) {
        self.path = path
        descriptor = clinux_open_folder(AT_FDCWD, path, false)
        guard descriptor >= 0 else { return nil }
        if place != path {
            // (deinit closes the descriptor.)
            errno = ESTALE
            return nil
        }
    }

    deinit {
        let error = errno
        if descriptor >= 0 { close(descriptor) }
        errno = error
    }

    /// For mount(2): this folder, wherever it is now.
    var link: String { "/proc/self/fd/\(descriptor)" }

    /// The present path of the folder.
    private var place: String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = readlink(link, &buffer, buffer.count - 1)
        return count > 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    /// The mount that contains the folder (proc(5), `mnt_id` of fdinfo).
    private var mountID: String? {
        (SystemFile.read("/proc/self/fdinfo/\(descriptor)") ?? []).split(separator: UInt8(ascii: "\n"))
            .map { String(decoding: $0, as: UTF8.self) }.first { $0.hasPrefix("mnt_id:") }?
            .split(whereSeparator: { $0 == "\t" || $0 == " " }).last.map(String.init)
    }

    struct Mount {
        var path: String
        var device: String
        /// Whether it is directly on the folder, which has not moved.
        var isRight: Bool
    }

    /// The FUSE mount of this user on top of the folder. Does not access the mount itself.
    func mount() -> Mount? {
        guard let place, let mountID, let top = MountTable().fuse(at: place), top.id != mountID,
            top.user == getuid()
        else { return nil }
        return Mount(path: place, device: top.device, isRight: place == path && top.parent == mountID)
    }
}

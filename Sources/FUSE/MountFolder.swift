internal import CLinux
internal import Glibc
internal import Surroundings

/// The folder that something is to be mounted on, held open from the look at it until the mount is seen to be there.
///
/// Whoever may write to a folder above it can put a symbolic link in its place at any moment, and mount(2) would follow
/// that with root's rights.
final class MountFolder {
    /// As the kernel writes it.
    let path: String
    private let descriptor: Int32

    /// Fails with `errno`; ESTALE: the path led there a moment ago, and does not any more.
    ///
    /// - Parameter path: absolute and free of symbolic links.
    init?(_ path: String) {
        self.path = path
        descriptor = clinux_open_folder(AT_FDCWD, path, false)
        guard descriptor >= 0 else { return nil }
        if place != path {
            // (The descriptor is closed by deinit.)
            errno = ESTALE
            return nil
        }
    }

    deinit {
        let error = errno
        if descriptor >= 0 { close(descriptor) }
        errno = error
    }

    /// For mount(2): this folder, wherever it is and whatever has its name by now.
    var link: String { "/proc/self/fd/\(descriptor)" }

    /// Where the folder is now.
    private var place: String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = readlink(link, &buffer, buffer.count - 1)
        return count > 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    /// The mount that the folder itself lies in (proc(5), `mnt_id` of fdinfo).
    private var mountID: String? {
        MountInfo.contents(of: "/proc/self/fdinfo/\(descriptor)").split(separator: UInt8(ascii: "\n"))
            .map { String(decoding: $0, as: UTF8.self) }.first { $0.hasPrefix("mnt_id:") }?
            .split(whereSeparator: { $0 == "\t" || $0 == " " }).last.map(String.init)
    }

    struct Mount {
        var path: String
        var device: String
        /// Directly on the folder, which is where it was when it was looked at.
        var isRight: Bool
    }

    /// The FUSE mount of this user that is on top of the folder. Nothing of a mount itself is looked at.
    func mount() -> Mount? {
        guard let place, let mountID, let top = MountTable().fuse(at: place), top.id != mountID,
            top.user == getuid()
        else { return nil }
        return Mount(path: place, device: top.device, isRight: place == path && top.parent == mountID)
    }
}

internal import CFUSE
internal import CLinux
internal import Glibc
internal import Surroundings

/// Our mount in /proc/self/mountinfo: accessing the mount point would be a request to ourselves.
struct MountTable {
    private let mounts: [MountInfo]

    init(_ mounts: [MountInfo] = MountInfo.all()) { self.mounts = mounts }

    /// The topmost FUSE mount at `path`.
    func fuse(at path: String) -> MountInfo? {
        guard let top = mounts.last(where: { $0.mountPoint == Array(path.utf8) }), top.type.hasPrefix("fuse") else {
            return nil
        }
        return top
    }

    /// The device ("0:49") of the topmost FUSE mount at `path`.
    func fuseDevice(at path: String) -> String? { fuse(at: path)?.device }
}

/// Detaches our mount from its mount point without a request to the file system; open files stay usable. Does nothing
/// when another mount is there by now.
func detachMount(at path: String, device: String?) {
    guard let device, MountTable().fuseDevice(at: path) == device else { return }
    if geteuid() == 0, clinux_unmount(path, CLINUX_UNMOUNT_DETACH) == 0 { return }

    let arguments = ["fusermount3", "-u", "-z", "-q", "--", path]
    let words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var child = pid_t()
    guard posix_spawnp(&child, "fusermount3", nil, nil, words, environ) == 0 else { return }
    var status: Int32 = 0
    while waitpid(child, &status, 0) == -1, errno == EINTR {}
}

/// In INIT the kernel accepts at most its own limit for read-ahead (128 KiB); root may raise it afterwards, through
/// sysfs.
func raiseReadAhead(to bytes: Int, device: String) {
    let fd = open("/sys/class/bdi/\(device)/read_ahead_kb", O_WRONLY | O_CLOEXEC)
    guard fd >= 0 else { return }
    let text = Array(String(bytes / 1024).utf8)
    _ = write(fd, text, text.count)
    close(fd)
}

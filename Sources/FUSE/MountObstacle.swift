internal import Glibc

/// Why FUSE cannot mount here, and the remedy: libfuse's messages are half a line, or none.
enum MountObstacle {
    private static let device = "/dev/fuse"
    /// The name that libfuse looks for, also on the PATH.
    private static let helper = "fusermount3"

    /// Nil: no known obstacle.
    static func find() -> String? {
        var status = stat()
        guard stat(device, &status) == 0 else {
            return "\(device): \(text(errno)); load the kernel's module (modprobe fuse), or give the container the "
                + "device (docker run --device /dev/fuse)"
        }
        guard status.st_mode & S_IFMT == S_IFCHR else { return "\(device): is not a device" }
        if geteuid() == 0 { return nil }
        guard access(device, R_OK | W_OK) == 0 else {
            return "\(device): \(text(errno)); its mode is usually 0666; ask the administrator of this machine"
        }
        guard hasHelper else {
            return "\(helper) cannot be run, and without it only root may mount; install it (apt install fuse3)"
        }
        return nil
    }

    private static var hasHelper: Bool {
        let folders = (getenv("PATH").map { String(cString: $0) } ?? "").split(separator: ":").map(String.init)
        return (["/usr/bin", "/bin"] + folders).contains { access("\($0)/\(helper)", X_OK) == 0 }
    }

    private static func text(_ number: Int32) -> String { FUSEError.text(of: number) }
}

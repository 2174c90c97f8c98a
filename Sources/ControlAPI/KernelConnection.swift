import CLinux
import Glibc

/// The kernel's end of a FUSE mount.
///
/// Needed when a daemon is killed while one of its threads is in the kernel to invalidate a folder, and a program holds
/// the lock of that folder during a request to the daemon. Then the thread waits for the program, and the program for
/// the daemon; the connection and everything that the daemon held stay. Only aborting the connection from outside ends
/// that.
///
/// Source: Documentation/filesystems/fuse/fuse.rst, *Control filesystem* and *Aborting a filesystem connection*.
package final class KernelConnection: Sendable {
    private let mountPoint: String
    private let identity: MountTable.Identity
    /// A descriptor of the connection's control file; -1 where that file system is not mounted (containers).
    ///
    /// Opened at the start, because an open descriptor always means this connection. The file's name is a device
    /// number, which the kernel may give to another file system later.
    private let control: Int32

    /// The connection of the topmost mount at this path. Reads only the table of mounts.
    package init?(mountPoint: String) {
        // `00:2a`: file systems without a disk have the major number 0.
        guard let identity = MountTable.identity(of: mountPoint) else { return nil }
        let device = identity.device.split(separator: ":")
        guard device.count == 2, let minor = UInt32(device[1], radix: 16) else { return nil }
        self.mountPoint = mountPoint
        self.identity = identity
        control = open("/sys/fs/fuse/connections/\(minor)/abort", O_WRONLY | O_CLOEXEC)
        // If the mount is still there, the device number was this mount's when the file was opened.
        if MountTable.identity(of: mountPoint) != identity { return nil }
    }

    deinit {
        if control >= 0 { close(control) }
    }

    /// Makes every waiting request fail with ECONNABORTED, and every later one with ENOTCONN. Does not unmount.
    package func abort() {
        if control >= 0 {
            _ = Glibc.write(control, "1", 1)
            return
        }
        // Root's MNT_FORCE aborts the connection too, even if the unmount itself fails with EBUSY.
        if geteuid() == 0, MountTable.identity(of: mountPoint) == identity {
            _ = clinux_unmount(mountPoint, CLINUX_UNMOUNT_FORCE)
        }
    }
}

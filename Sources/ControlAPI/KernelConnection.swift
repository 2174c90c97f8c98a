import CLinux
import Glibc

/// The kernel's end of a FUSE mount.
///
/// A daemon is killed, and one of its threads is in the kernel just then, to tell it of a change in a folder; and
/// a program has that folder locked, for the length of a request that the daemon was to answer. Then the thread waits
/// for the program and the program for the daemon; the connection, and all that the daemon held, stay as long. Only
/// ending the connection from outside helps.
///
/// Source: Documentation/filesystems/fuse/fuse.rst, *Control filesystem* and *Aborting a filesystem connection*.
package final class KernelConnection: Sendable {
    private let mountPoint: String
    private let identity: MountTable.Identity
    /// Its control file; -1 where that file system is not mounted (containers).
    ///
    /// Open from the start: it goes on meaning this connection, and nothing at all when that is gone. Its name, a
    /// device number, is given to the next file system that is mounted, which may be anybody's.
    private let control: Int32

    /// Of what is mounted on top at this path. Looks only into the table of mounts.
    package init?(mountPoint: String) {
        // `00:2a`: file systems without a disk have the major number 0.
        guard let identity = MountTable.identity(of: mountPoint) else { return nil }
        let device = identity.device.split(separator: ":")
        guard device.count == 2, let minor = UInt32(device[1], radix: 16) else { return nil }
        self.mountPoint = mountPoint
        self.identity = identity
        control = open("/sys/fs/fuse/connections/\(minor)/abort", O_WRONLY | O_CLOEXEC)
        // Still mounted there: so the number was not another's when the file was opened.
        if MountTable.identity(of: mountPoint) != identity { return nil }
    }

    deinit {
        if control >= 0 { close(control) }
    }

    /// Every request that waits fails with ECONNABORTED, every later one with ENOTCONN. Nothing is unmounted by it.
    package func abort() {
        if control >= 0 {
            _ = Glibc.write(control, "1", 1)
            return
        }
        // MNT_FORCE, as root. It may well be busy; that is enough.
        if geteuid() == 0, MountTable.identity(of: mountPoint) == identity {
            _ = clinux_unmount(mountPoint, CLINUX_UNMOUNT_FORCE)
        }
    }
}

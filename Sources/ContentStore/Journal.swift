import CLinux
import Glibc
import Surroundings

/// What the journal of a file system promises about fsync(2), beyond POSIX. Nothing is assumed of other file systems.
///
/// Source: Pillai et al., *All File Systems Are Not Created Equal*, OSDI 2014; fsync(2); fs/ext4/page-io.c,
/// fs/xfs/xfs_aops.c, fs/btrfs/tree-log.c. `scripts/powerloss-test` cuts the power of all but ext3.
struct Journal {
    /// fsync(2) of a file makes its name durable as well, so that its folder need not be synced. It holds for the
    /// journals of ext3 and ext4 (one transaction has both, or an earlier one has the name), the log of XFS (forced up to
    /// the file's last change, its creation included) and Btrfs (the log has the name of a new or renamed file with it).
    var namesComeWithFiles = false
    /// All changes of metadata reach the disk in their order, and never before bytes whose writing had ended by then: the
    /// journal of ext4 and the log of XFS, which they write behind a flush of the disk's cache. Not where there is no
    /// journal; not where the bytes are on another disk than the journal (ext4 flushes that one only for some writes, XFS
    /// no disk for real-time files); and not Btrfs: its log has the synced files only, and it adds written bytes to a file
    /// after it has reported their end.
    var keepsOrder = false

    private static let xfs: Int64 = 0x5846_5342
    private static let btrfs: Int64 = 0x9123_683E
    /// Also ext2's, whose names are not durable.
    private static let ext: Int64 = 0xEF53

    static func of(_ directory: String) -> Journal {
        var status = stat()
        guard stat(directory, &status) == 0 else { return Journal() }
        switch clinux_file_system_magic(directory) {
        case xfs:
            let mount = mount(of: status.st_dev, in: MountInfo.all())
            let isWhole = mount?.options.contains { $0.hasPrefix("rtdev=") } == false
            return Journal(namesComeWithFiles: true, keepsOrder: isWhole)
        case btrfs: return Journal(namesComeWithFiles: true)
        case ext:
            guard let mount = mount(of: status.st_dev, in: MountInfo.all()) else { return Journal() }
            let isOrdered =
                mount.type == "ext4" && !mount.options.contains("journal_async_commit")
                && hasJournalInside(mount.device)
            return Journal(namesComeWithFiles: mount.type == "ext3" || mount.type == "ext4", keepsOrder: isOrdered)
        default: return Journal()
        }
    }

    /// Whether an ext4 file system has its journal on its own disk, in its inode 8.
    ///
    /// Source: fs/jbd2/journal.c (`jbd2_journal_init_inode`): the journal's name in /proc/fs/jbd2.
    private static func hasJournalInside(_ device: String) -> Bool {
        guard let link = SystemFile.link("/sys/dev/block/\(device)"), let name = link.split(separator: "/").last else {
            return false
        }
        return access("/proc/fs/jbd2/\(name)-8", F_OK) == 0
    }

    static func mount(of device: dev_t, in mounts: [MountInfo]) -> MountInfo? {
        let device = UInt64(device)
        let major = (device >> 8 & 0xfff) | (device >> 32 & ~0xfff)
        let minor = (device & 0xff) | (device >> 12 & ~0xff)
        return mounts.first { $0.major == major && $0.minor == minor }
    }
}

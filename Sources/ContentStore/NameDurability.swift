import CLinux
import Glibc
import Surroundings

/// Whether fsync(2) of a file makes its name durable as well, so that its folder need not be synced.
///
/// POSIX leaves it open. It holds for the journals of ext3 and ext4 (one transaction has both, or an earlier one has
/// the name), the log of XFS (forced up to the file's last change, its creation included) and Btrfs (the log has the
/// name of a new or renamed file with it); `scripts/powerloss-test` cuts the power of all but ext3. Nothing is assumed
/// for other file systems.
///
/// Source: Pillai et al., *All File Systems Are Not Created Equal*, OSDI 2014; fsync(2).
enum NameDurability {
    private static let xfs: Int64 = 0x5846_5342
    private static let btrfs: Int64 = 0x9123_683E
    /// Also ext2's, whose names are not durable.
    private static let ext: Int64 = 0xEF53

    static func comesWithFiles(in directory: String) -> Bool {
        var status = stat()
        guard stat(directory, &status) == 0 else { return false }
        switch clinux_file_system_magic(directory) {
        case xfs, btrfs: return true
        case ext: return ["ext3", "ext4"].contains(type(of: status.st_dev, in: MountInfo.all()))
        default: return false
        }
    }

    static func type(of device: dev_t, in mounts: [MountInfo]) -> String? {
        let device = UInt64(device)
        let major = (device >> 8 & 0xfff) | (device >> 32 & ~0xfff)
        let minor = (device & 0xff) | (device >> 12 & ~0xff)
        return mounts.first { $0.major == major && $0.minor == minor }?.type
    }
}

import ContentStore
import FileProvider
package import Glibc
import ItemCatalog
import SyncEngine
import Trees

/// statvfs(3), what `df` shows.
extension Volume {
    /// How full the store is, as the store said last; nobody waits for it.
    ///
    /// This machine bounds what may be written as well, because everything passes through it: by the free room on the
    /// disk and what can be evicted. For a store that has no limit, or does not tell it, this is all that is known. The
    /// numbers of inodes are the local disk's.
    package func statistics() throws(VolumeError) -> statvfs {
        do {
            var statistics = try mount.store.diskStatistics()
            guard let quota = engine.quota.last else { return statistics }
            statistics.show(quota, evictable: try catalog.read { try $0.bytesHere() })
            return statistics
        } catch {
            throw VolumeError(error)
        }
    }
}

extension statvfs {
    /// Turns the numbers of the local disk, which may be anything, into the store's.
    ///
    /// - Parameter evictable: how many bytes of the local disk can be had by eviction.
    mutating func show(_ quota: StoreQuota, evictable: Int64) {
        let unit = max(1, UInt64(f_frsize))
        // (No more than the disk has in use: some of the bytes here may be holes.)
        let inUse = DiskNumbers.bytes(UInt64(f_blocks - min(f_bfree, f_blocks)), of: unit)
        let local = DiskNumbers.bytes(UInt64(f_bavail), of: unit).clampedAdding(min(inUse, max(0, evictable)))
        let used = max(0, quota.used)
        let free = quota.total.map { max(0, $0.clampedSubtracting(used)) } ?? local
        f_blocks = fsblkcnt_t((UInt64(used) + UInt64(free)) / unit)
        f_bfree = fsblkcnt_t(UInt64(free) / unit)
        f_bavail = fsblkcnt_t(UInt64(min(free, local)) / unit)
    }
}

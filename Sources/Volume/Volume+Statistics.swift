import ContentStore
import FileProvider
package import Glibc
import ItemCatalog
import SyncEngine

/// statvfs(3), what `df` shows.
extension Volume {
    /// How full the store is, as it said last; nobody waits for it.
    ///
    /// What may be written is bounded by this machine as well, through which it has to go: by what is free on the disk
    /// and what can be evicted. Of a store without a limit, or that does not say, this is all that is known. Inodes are
    /// those of the local disk.
    package func statistics() throws(VolumeError) -> statvfs {
        do {
            var statistics = try context.store.diskStatistics()
            guard let quota = engine.quota.last else { return statistics }
            let unit = UInt64(max(1, statistics.f_frsize))
            // (No more than the disk has in use: of what is here some may be holes.)
            let inUse = UInt64(statistics.f_blocks - min(statistics.f_bfree, statistics.f_blocks)) * unit
            let evictable = min(inUse, UInt64(max(0, try catalog.read { try $0.bytesHere() })))
            let local = UInt64(statistics.f_bavail) * unit + evictable
            let used = UInt64(quota.used)
            let free = quota.total.map { UInt64(max(0, $0 - quota.used)) } ?? local
            statistics.f_blocks = fsblkcnt_t((used + free) / unit)
            statistics.f_bfree = fsblkcnt_t(free / unit)
            statistics.f_bavail = fsblkcnt_t(min(free, local) / unit)
            return statistics
        } catch {
            throw VolumeError(error)
        }
    }
}

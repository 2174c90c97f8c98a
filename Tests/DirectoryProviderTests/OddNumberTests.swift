import FileProvider
import Glibc
import Testing

@testable import DirectoryProvider

/// A file system below may say any number.
@Suite struct OddNumberTests {
    private func quota(
        blocks: UInt, free: UInt, available: UInt, unit: UInt = 4096
    ) -> StoreQuota {
        var statistics = statvfs()
        (statistics.f_blocks, statistics.f_bfree, statistics.f_bavail) = (blocks, free, available)
        (statistics.f_frsize, statistics.f_bsize) = (unit, unit)
        return StoreQuota(statistics)
    }

    @Test func room() {
        #expect(quota(blocks: 100, free: 40, available: 30) == StoreQuota(used: 60 * 4096, total: 90 * 4096))
        // More is free than there is.
        #expect(quota(blocks: 100, free: 101, available: 30) == StoreQuota(used: 0, total: 30 * 4096))
        let most = Int64.max
        #expect(
            quota(blocks: 1 << 40, free: 0, available: 1 << 40, unit: 16 << 20) == StoreQuota(used: most, total: most))
        #expect(quota(blocks: .max, free: 0, available: .max, unit: .max) == StoreQuota(used: most, total: most))
        #expect(quota(blocks: 1, free: 1, available: 1, unit: 0) == StoreQuota(used: 0, total: 0))
    }

    @Test func changeTimes() {
        #expect(Store.isOld(Timestamp(.min, 0), at: 1_800_000_000, 3600))
        #expect(!Store.isOld(Timestamp(.max, 0), at: 1_800_000_000, 3600))
        #expect(!Store.isOld(Timestamp(.max, 0), at: .min, 3600))
        #expect(Store.isOld(Timestamp(1_000, 0), at: 4_601, 3600) && !Store.isOld(Timestamp(1_000, 0), at: 4_600, 3600))
    }
}

import FileProvider
import Glibc
import Testing

@testable import Volume

/// What `df` shows, of any numbers.
@Suite struct StatisticsTests {
    @Test func oddNumbers() {
        var odd = statvfs()
        (odd.f_frsize, odd.f_bavail, odd.f_blocks) = (16 << 20, 1 << 40, .max)
        for quota in [
            StoreQuota(used: .max, total: .max), StoreQuota(used: .max, total: nil), StoreQuota(used: 0, total: nil),
            StoreQuota(used: -1, total: -1), StoreQuota(used: .max, total: .min),
        ] {
            for unit: UInt in [0, 1, 16 << 20, .max] {
                var statistics = odd
                statistics.f_frsize = unit
                statistics.show(quota, evictable: .max)
                #expect(statistics.f_blocks >= statistics.f_bfree && statistics.f_bfree >= statistics.f_bavail)
            }
        }
        var usual = statvfs()
        (usual.f_frsize, usual.f_bavail, usual.f_blocks) = (4096, 10, 100)
        usual.show(StoreQuota(used: 8 * 4096, total: 20 * 4096), evictable: 4096)
        #expect(usual.f_blocks == 20 && usual.f_bfree == 12 && usual.f_bavail == 11)
    }
}

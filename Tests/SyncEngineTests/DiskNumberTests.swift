import FileProvider
import Testing

@testable import SyncEngine

/// A file system may say anything of its room, and a limit may be any number: none of it ends the daemon.
@Suite struct DiskNumberTests {
    @Test func numbersAreClamped() {
        #expect(DiskNumbers.bytes(10, of: 4_096) == 40_960)
        #expect(DiskNumbers.bytes(.max, of: 1) == .max)
        #expect(DiskNumbers.bytes(1 << 52, of: 1 << 12) == .max)
        #expect(DiskNumbers.bytes(.max, of: 0) == 0)
        #expect(Int64.max.clampedAdding(1) == .max && Int64.min.clampedAdding(-1) == .min)
        #expect(Int64.max.clampedSubtracting(-1) == .max && Int64.min.clampedSubtracting(1) == .min)
        #expect(Int64(3).clampedAdding(-4) == -1 && Int64(3).clampedSubtracting(4) == -1)
    }

    @Test(arguments: [CacheLimits.MinimumFree.usual, .bytes(.max), .bytes(0), .percent(100)])
    func aDiskOfAnySize(_ minimum: CacheLimits.MinimumFree) throws {
        for size: Int64 in [0, 1, 1 << 40, .max] { #expect(minimum.bytes(of: size) >= 0) }
        let test = try TestEngine(cache: CacheLimits(minimumFree: minimum))
        #expect(test.engine.mount.room.lacking(for: .max) > 0)
        #expect(test.engine.mount.room.reserve >= 0)
        let free = try #require(test.engine.mount.room.free())
        #expect(free.free >= 0 && free.minimum >= 0)
    }
}

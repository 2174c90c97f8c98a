import FileProvider
import Glibc
import ItemCatalog
import Trees

/// Tells when the wall clock was set back, by comparing it with CLOCK_BOOTTIME, which nobody can set.
struct WallClock: Sendable {
    /// Both clocks at one moment, in nanoseconds.
    struct Reading: Sendable {
        let wall: Int64
        /// CLOCK_BOOTTIME: includes the time that the machine sleeps.
        let running: Int64

        init(wall: Int64, running: Int64) { (self.wall, self.running) = (wall, running) }

        static var now: Reading {
            var time = timespec()
            clock_gettime(CLOCK_BOOTTIME, &time)
            return Reading(
                wall: FileTime.now.nanoseconds, running: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
        }

        /// How far the wall clock is ahead of the other clock. Changes only when the wall clock is set.
        fileprivate var ahead: Int64 { wall - running }
    }
    private var last: Reading
    /// In nanoseconds. A clock that is only slewed (adjtimex(2), 0.5 ms a second at most) does not count as set.
    private let tolerance: Int64

    init(tolerance: Double, at reading: Reading = .now) {
        self.tolerance = Int64(tolerance * 1e9)
        last = reading
    }

    /// Whether the wall clock was set back since the last call.
    mutating func wasSetBack(by reading: Reading = .now) -> Bool {
        defer { last = reading }
        return last.ahead - reading.ahead > tolerance
    }
}

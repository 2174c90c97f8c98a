import Locking
import Synchronization

/// How busy programs are with changing documents here. While a program writes one document after another (tar, git,
/// rsync), sending can wait a moment: writing and sending both need the processors and the catalog, and together take
/// longer than one after the other.
final class LocalActivity: Sendable {
    enum Pressure {
        case none
        /// Busy, but only for a short while so far.
        case burst
        /// Busy for long: pending changes must not wait for the end.
        case lasting
    }
    private struct Sample {
        var moment = ContinuousClock.now
        var count = 0
        var isBusy = false
        /// The start of the busy time; it may contain pauses shorter than `pause`.
        var busySince = ContinuousClock.now
        var lastBusy: ContinuousClock.Instant?
    }
    private let count = Atomic(0)
    private let sample = AdaptiveMutex(Sample())
    /// The time over which changes are counted.
    static let window = Duration.milliseconds(100)
    /// This many changes within the window are not made by a person.
    private static let many = 20
    private static let longest = Duration.seconds(10)
    private static let pause = Duration.seconds(1)

    /// A program has changed something.
    func note() { count.wrappingAdd(1, ordering: .relaxed) }

    var pressure: Pressure {
        let count = count.load(ordering: .relaxed)
        return sample.withLock { sample in
            let now = ContinuousClock.now
            let passed = sample.moment.duration(to: now)
            if passed >= Self.window {
                sample.isBusy = Double(count - sample.count) >= Double(Self.many) * (passed / Self.window)
                if sample.isBusy {
                    if sample.lastBusy.map({ $0.duration(to: now) > Self.pause }) ?? true {
                        sample.busySince = sample.moment
                    }
                    sample.lastBusy = now
                }
                (sample.moment, sample.count) = (now, count)
            }
            guard sample.isBusy else { return .none }
            return sample.busySince.duration(to: now) < Self.longest ? .burst : .lasting
        }
    }
}

import Locking
import Synchronization

/// How busy programs are with changing documents here. While one writes one document after another (tar, git, rsync), what
/// it made before can wait a moment to be sent: sent meanwhile, it takes longer in all than one after the other, for both
/// need the processors and the catalog.
final class LocalActivity: Sendable {
    enum Pressure {
        case none
        /// For a short while only, so far.
        case burst
        /// It goes on and on: what is pending must not wait for its end.
        case lasting
    }
    private struct Sample {
        var moment = ContinuousClock.now
        var count = 0
        var isBusy = false
        /// With pauses, of less than `pause`.
        var busySince = ContinuousClock.now
        var lastBusy: ContinuousClock.Instant?
    }
    private let count = Atomic(0)
    private let sample = AdaptiveMutex(Sample())
    /// How long is looked at.
    static let window = Duration.milliseconds(100)
    /// So many changes within it: not what a person does.
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

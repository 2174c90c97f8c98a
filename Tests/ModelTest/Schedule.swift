import CModelTest
import Glibc

/// Decides which job of Swift concurrency runs next, and what time it is: all on one thread, so that one generator
/// determines everything, and a run can be repeated.
///
/// It chooses among ready jobs, and calls of the store that wait to be carried out or answered; when there are none, it
/// wakes the next sleeper.
///
/// Unchecked: only one thread uses it, which is checked.
final class Schedule: @unchecked Sendable {
    static let shared = Schedule()

    private enum Job {
        case global(UnownedJob)
        case worker(UnownedJob, UnownedTaskExecutor)
        case wake(UnsafeMutableRawPointer?, @convention(c) (UnsafeMutableRawPointer?) -> Void)
    }
    private struct Sleeper {
        var until: Int64
        var number: Int
        var job: Job
    }

    /// An outside event that happens when the schedule chooses it.
    struct Event {
        var what: String
        var happen: () -> Void
        /// The part that may still happen when the process is killed before.
        var afterDeath: (@Sendable () async -> Void)?
    }

    private let thread = pthread_self()
    private var ready: [Job] = []
    private var sleepers: [Sleeper] = []
    private(set) var events: [(number: Int, event: Event)] = []
    private var lastNumber = 0
    private(set) var now: Int64 = 0
    private(set) var stepCount = 0
    /// A hash of all choices so far: two runs with the same hash did the same.
    private(set) var trace: UInt64 = 0xcbf2_9ce4_8422_2325

    /// Seconds since 1970 at which every sequence begins.
    static let start: Int64 = 1_800_000_000_000_000_000

    private func check() { precondition(pthread_equal(thread, pthread_self()) != 0, "another thread runs Swift tasks") }

    func note(_ text: some Sequence<UInt8>) { for byte in text { trace = (trace ^ UInt64(byte)) &* 0x100_0000_01b3 } }

    // MARK: Input

    func add(_ job: UnownedJob) {
        check()
        ready.append(.global(job))
    }

    func add(_ job: UnownedJob, _ executor: UnownedTaskExecutor) {
        check()
        ready.append(.worker(job, executor))
    }

    func sleep(
        until: Int64, _ context: UnsafeMutableRawPointer?,
        _ wake: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void
    ) {
        check()
        lastNumber += 1
        let sleeper = Sleeper(until: until, number: lastNumber, job: .wake(context, wake))
        let place = sleepers.firstIndex { $0.until > until } ?? sleepers.endIndex
        sleepers.insert(sleeper, at: place)
    }

    /// Keeps an event until its turn.
    func park(_ event: Event) {
        check()
        lastNumber += 1
        events.append((lastNumber, event))
    }

    // MARK: Progress

    /// Restarts time and tasks.
    func reset() {
        forget()
        stepCount = 0
        trace = 0xcbf2_9ce4_8422_2325
        set(Self.start)
        cmodeltest_set_randomness(4_711)
    }

    /// The process was killed: drops all running work. Returns the outside events under way.
    @discardableResult
    func forget() -> [Event] {
        let left = events.map(\.event)
        (ready, sleepers, events) = ([], [], [])
        return left
    }

    private func set(_ moment: Int64) {
        now = moment
        cmodeltest_set_clock(moment)
    }

    var isIdle: Bool { ready.isEmpty && events.isEmpty }
    var nextWake: Int64? { sleepers.first?.until }

    /// Runs one ready job or event. False: there is none.
    func step(_ random: inout Random) -> Bool {
        // A microsecond per step: two events seldom share a moment.
        set(now + 1_000)
        wakeSleepers()
        if isIdle { return false }
        stepCount += 1
        // Usually the store is slower than this machine.
        if !ready.isEmpty, events.isEmpty || random.below(8) != 0 {
            let index = random.below(3) == 0 ? 0 : random.below(ready.count)
            note([1, UInt8(truncatingIfNeeded: index)])
            run(ready.remove(at: index))
        } else {
            let index = random.below(events.count)
            let event = events.remove(at: index).event
            note(event.what.utf8)
            event.happen()
        }
        return true
    }

    private func wakeSleepers() {
        while let first = sleepers.first, first.until <= now {
            sleepers.removeFirst()
            ready.append(first.job)
        }
    }

    /// Advances the time to the next sleeper's wake-up, but not beyond `end`. False: none wakes before.
    func pass(until end: Int64) -> Bool {
        guard let next = nextWake, next <= end else {
            set(max(now, end))
            return false
        }
        set(max(now, next))
        wakeSleepers()
        return true
    }

    private func run(_ job: Job) {
        switch job {
        case .global(let job): runJob(job, RuntimeHooks.generic)
        case .worker(let job, let executor): job.runSynchronously(on: executor)
        case .wake(let context, let wake): wake(context)
        }
    }
}

@_silgen_name("swift_job_run") private func runJob(_ job: UnownedJob, _ executor: UnownedSerialExecutor)

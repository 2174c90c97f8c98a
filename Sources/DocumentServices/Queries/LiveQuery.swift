import ItemCatalog
import Synchronization
import Trees

/// The state of a running query: the changes that it must still look at, and the tasks that wait for it.
final class LiveQuery: Sendable {
    private struct State {
        var rows = ChangedRows()
        /// Tasks that wait until the query's program knows everything that was committed before they came.
        var waiters: [CheckedContinuation<Void, Never>] = []
        /// The last question that the program has answered.
        var answered = 0
        /// The wait of the task that runs the query.
        var pause: Pause?
        var lastPause = 0
        /// Pauses up to this number are over: timed out or cancelled.
        var overdue = 0
        var hasEnded = false
    }
    /// A wait that ends with its condition, its timeout or its task, whichever comes first. (An AsyncStream would not
    /// do: a cancelled iteration ends the stream for good.)
    private struct Pause {
        var number: Int
        var isOver: @Sendable (State) -> Bool
        var continuation: CheckedContinuation<Void, Never>
    }
    private let state = Mutex(State())

    let asksForText: Bool

    init(asksForText: Bool) { self.asksForText = asksForText }

    // MARK: For other tasks

    func changed(_ rows: ChangedRows) { note { $0.rows.add(rows) } }

    /// Returns when the program knows everything that was committed before, or the query has ended.
    func settle() async {
        await withCheckedContinuation { continuation in
            let hasEnded = note { state in
                if !state.hasEnded { state.waiters.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    func taken(_ question: Int) { note { $0.answered = max($0.answered, question) } }

    /// Changes the state, and resumes the waiting task if its condition is true now.
    @discardableResult
    private func note<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let (result, woken) = state.withLock { state in
            let result = body(&state)
            guard let pause = state.pause, pause.isOver(state) else { return (result, Pause?.none) }
            state.pause = nil
            return (result, pause)
        }
        woken?.continuation.resume()
        return result
    }

    // MARK: For the task that runs the query

    /// Returns the changes, after a pause in which more may come, or at once when a task waits.
    ///
    /// - Returns: nil: the query has ended.
    func next(after interval: Double) async -> (rows: ChangedRows, waiters: [CheckedContinuation<Void, Never>])? {
        await wait { !$0.rows.isEmpty || !$0.waiters.isEmpty }
        await wait(interval) { !$0.waiters.isEmpty }
        if Task.isCancelled { return nil }
        return state.withLock { state in
            defer { (state.rows, state.waiters) = (ChangedRows(), []) }
            return (state.rows, state.waiters)
        }
    }

    /// Returns when the program has answered the question, or after the timeout.
    func answered(_ question: Int, within seconds: Double) async {
        await wait(seconds) { $0.answered >= question }
    }

    /// - Parameter seconds: the timeout; nil: there is none.
    private func wait(_ seconds: Double? = nil, until isOver: @escaping @Sendable (State) -> Bool) async {
        let number = state.withLock { state in
            state.lastPause += 1
            return state.lastPause
        }
        let timer = seconds.map { seconds in
            Task { if (try? await Task.sleep(for: .seconds(seconds))) != nil { endPause(number) } }
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isNow = state.withLock { state in
                    if Task.isCancelled || state.overdue >= number || isOver(state) { return true }
                    state.pause = Pause(number: number, isOver: isOver, continuation: continuation)
                    return false
                }
                if isNow { continuation.resume() }
            }
        } onCancel: {
            endPause(number)
        }
        timer?.cancel()
    }

    private func endPause(_ number: Int) {
        let pause = state.withLock { state -> Pause? in
            state.overdue = max(state.overdue, number)
            guard state.pause?.number == number else { return nil }
            defer { state.pause = nil }
            return state.pause
        }
        pause?.continuation.resume()
    }

    func end() {
        let waiters = state.withLock { state in
            state.hasEnded = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

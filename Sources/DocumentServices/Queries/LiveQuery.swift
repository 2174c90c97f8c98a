import ItemCatalog
import Synchronization
import Trees

/// A query that is under way: what it has to look at next, and who waits for it.
final class LiveQuery: Sendable {
    private struct State {
        var rows = ChangedRows()
        /// Who waits until the query's program knows what was committed before he came.
        var waiters: [CheckedContinuation<Void, Never>] = []
        /// The last question that the program has answered.
        var answered = 0
        /// Of the one who runs it.
        var pause: Pause?
        var lastPause = 0
        /// The time of this one, and of those before it, is over.
        var overdue = 0
        var hasEnded = false
    }
    /// A wait that ends with what it waits for, its time or its task, whichever is first. (Not a stream of signals: an iteration
    /// that is cancelled for being late ends the stream for good.)
    private struct Pause {
        var number: Int
        var isOver: @Sendable (State) -> Bool
        var continuation: CheckedContinuation<Void, Never>
    }
    private let state = Mutex(State())

    let asksForText: Bool

    init(asksForText: Bool) { self.asksForText = asksForText }

    // MARK: From elsewhere

    func changed(_ rows: ChangedRows) { note { $0.rows.add(rows) } }

    /// Returns when its program knows what was committed before, or the query has ended.
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

    /// Takes a note, and wakes the one who waits for it.
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

    // MARK: By the one who runs it

    /// What has changed, after a while in which more may, or at once when somebody waits.
    ///
    /// - Returns: nil: it is over.
    func next(after interval: Double) async -> (rows: ChangedRows, waiters: [CheckedContinuation<Void, Never>])? {
        await wait { !$0.rows.isEmpty || !$0.waiters.isEmpty }
        await wait(interval) { !$0.waiters.isEmpty }
        if Task.isCancelled { return nil }
        return state.withLock { state in
            defer { (state.rows, state.waiters) = (ChangedRows(), []) }
            return (state.rows, state.waiters)
        }
    }

    /// Returns when this was answered, or after a while.
    func answered(_ question: Int, within seconds: Double) async {
        await wait(seconds) { $0.answered >= question }
    }

    /// - Parameter seconds: nil: for as long as it takes.
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

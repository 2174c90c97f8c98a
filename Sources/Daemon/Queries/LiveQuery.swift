import ItemCatalog
import Synchronization

/// A query that is under way: what it has to look at next, and who waits for it.
final class LiveQuery: Sendable {
    private struct State {
        var rows = ChangedRows()
        /// Who waits until the query's program knows what was committed before he came.
        var waiters: [CheckedContinuation<Void, Never>] = []
        var hasEnded = false
    }
    private let state = Mutex(State())
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation
    private let hurries: AsyncStream<Void>
    private let hurry: AsyncStream<Void>.Continuation
    private let answers: AsyncStream<Int>
    private let answer: AsyncStream<Int>.Continuation

    let asksForText: Bool

    init(asksForText: Bool) {
        self.asksForText = asksForText
        (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (hurries, hurry) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (answers, answer) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: From elsewhere

    func changed(_ rows: ChangedRows) {
        state.withLock { $0.rows.add(rows) }
        signal.yield()
    }

    /// Returns when its program knows what was committed before, or the query has ended.
    func settle() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waiters.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { return continuation.resume() }
            hurry.yield()
            signal.yield()
        }
    }

    func taken(_ question: Int) { answer.yield(question) }

    // MARK: By the one who runs it

    /// What has changed, after a while in which more may, or at once when somebody waits.
    ///
    /// - Returns: nil: it is over.
    func next(after interval: Double) async -> (rows: ChangedRows, waiters: [CheckedContinuation<Void, Never>])? {
        guard await signals.first(where: { true }) != nil, !Task.isCancelled else { return nil }
        if !state.withLock({ !$0.waiters.isEmpty }) { await race(interval) { await self.hurries.first { true } } }
        if Task.isCancelled { return nil }
        return state.withLock { state in
            defer { (state.rows, state.waiters) = (ChangedRows(), []) }
            return (state.rows, state.waiters)
        }
    }

    /// Returns when this was answered, or after a while.
    func answered(_ question: Int, within seconds: Double) async {
        await race(seconds) { await self.answers.first { $0 >= question } }
    }

    private func race(_ seconds: Double, _ other: @escaping @Sendable () async -> Any?) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await Task.sleep(for: .seconds(seconds)) }
            group.addTask { _ = await other() }
            await group.next()
            group.cancelAll()
        }
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

extension AsyncStream where Element: Sendable {
    fileprivate func first(where isWanted: @Sendable (Element) -> Bool) async -> Element? {
        for await element in self where isWanted(element) { return element }
        return nil
    }
}

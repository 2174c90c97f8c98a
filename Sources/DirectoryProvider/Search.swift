import FileProvider

/// Walks of the whole tree for those who miss an item: one at a time, shared by all who wait for its
/// start, and never so often that they take up the disk.
actor Search {
    /// Nil when everything was seen.
    typealias Outcome = FileProviderError?

    private let walk: @Sendable () async -> Outcome
    private var waiting: Task<Outcome, Never>?
    private var earliest = ContinuousClock.now

    init(walk: @escaping @Sendable () async -> Outcome) { self.walk = walk }

    /// A walk that begins after this call: an earlier one may have passed the item's new place already.
    func afresh() async -> Outcome {
        if let waiting { return await waiting.value }
        let before = running
        let task = Task {
            _ = await before?.value
            return await run()
        }
        waiting = task
        return await task.value
    }

    private var running: Task<Outcome, Never>?

    private func run() async -> Outcome {
        try? await Task.sleep(until: earliest, clock: .continuous)
        running = waiting
        waiting = nil
        let began = ContinuousClock.now
        let outcome = await walk()
        let took = ContinuousClock.now - began
        // A tenth of the time at most, but nobody waits longer than this.
        earliest = .now + min(took * 9, .seconds(10))
        return outcome
    }
}

import FileProvider

/// Walks of the whole tree, for calls that miss an item: one walk at a time, shared by all calls that wait for its
/// start, and with pauses that spare the disk.
actor Search {
    /// Nil when the whole tree was seen.
    typealias Outcome = FileProviderError?

    private let walk: @Sendable () async -> Outcome
    private var waiting: Task<Outcome, Never>?
    private var earliest = ContinuousClock.now

    init(walk: @escaping @Sendable () async -> Outcome) { self.walk = walk }

    /// A walk that begins after this call: an earlier walk may have passed the item's new place already.
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
        let duration = ContinuousClock.now - began
        // Walks take at most a tenth of the time, but no caller waits longer than this.
        earliest = .now + min(duration * 9, .seconds(10))
        return outcome
    }
}

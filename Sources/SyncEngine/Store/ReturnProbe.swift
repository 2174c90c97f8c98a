/// Asks now and then whether a store that does not answer is back, so that nobody need try.
actor ReturnProbe {
    private let context: SyncContext
    private var task: Task<Void, Never>?
    private var pause: Task<Void, Never>?
    /// Somebody wants it to ask, who may have come while it did not pause.
    private var isUrgent = false
    private var isOver = false
    /// In seconds.
    private static let longest = 30.0

    init(context: SyncContext) { self.context = context }

    /// The store does not answer. Asks until it does.
    func begin() {
        guard task == nil, !isOver else { return }
        task = Task(executorPreference: context.workers) { await self.run() }
    }

    private func run() async {
        var seconds = context.times.firstRetry
        while !isOver, context.connection.failure != nil {
            let pause = Task { [seconds] in _ = try? await Task.sleep(for: .seconds(seconds)) }
            self.pause = pause
            if isUrgent { pause.cancel() }
            await pause.value
            isUrgent = false
            seconds = min(max(seconds, 0.1) * 2, Self.longest)
            if isOver || context.connection.failure == nil { break }
            await context.client.knock()
        }
        task = nil
    }

    /// Something may be otherwise by now: the network, the password.
    func now() {
        // (It may be about to begin.)
        guard task != nil || context.connection.failure != nil else { return }
        isUrgent = true
        pause?.cancel()
    }

    func end() {
        isOver = true
        pause?.cancel()
        task?.cancel()
    }
}

/// Asks at intervals whether a store that does not answer is back, so that no other part has to.
actor ReturnProbe {
    private let mount: MountState
    private let client: StoreClient
    private var task: Task<Void, Never>?
    private var pause: Task<Void, Never>?
    /// A caller wants a try at once, and may have come between two pauses.
    private var isUrgent = false
    private var isOver = false
    /// The longest pause, in seconds.
    private static let longest = 30.0

    init(mount: MountState, client: StoreClient) {
        self.mount = mount
        self.client = client
    }

    /// The store does not answer: asks until it does.
    func begin() {
        guard task == nil, !isOver else { return }
        task = Task(executorPreference: mount.workers) { await self.run() }
    }

    private func run() async {
        var seconds = mount.times.firstRetry
        while !isOver, client.connection.failure != nil {
            let pause = Task { [seconds, clock = mount.clock] in _ = try? await clock.sleep(for: .seconds(seconds)) }
            self.pause = pause
            if isUrgent { pause.cancel() }
            await pause.value
            isUrgent = false
            seconds = min(max(seconds, 0.1) * 2, Self.longest)
            if isOver || client.connection.failure == nil { break }
            await client.probe()
        }
        task = nil
    }

    /// The network or the password may have changed: asks at once.
    func now() {
        // (A probe may be about to begin.)
        guard task != nil || client.connection.failure != nil else { return }
        isUrgent = true
        pause?.cancel()
    }

    func end() {
        isOver = true
        pause?.cancel()
        task?.cancel()
    }
}

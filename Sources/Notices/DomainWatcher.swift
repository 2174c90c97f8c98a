import ControlAPI

/// Keeps up with one mounted domain: asks for its status when an event says that something may need a person, and
/// now and then,
/// since not everything has an event. Survives the end of the daemon, and finds the next one.
struct DomainWatcher: Sendable {
    let mountPoint: String
    /// Takes over what there is; nil: no daemon answers.
    let report: @Sendable (DomainSnapshot?) async -> Void
    /// The last tells the watcher to look at once.
    let nudges: AsyncStream<Void>
    let nudge: AsyncStream<Void>.Continuation

    init(_ mountPoint: String, report: @escaping @Sendable (DomainSnapshot?) async -> Void) {
        self.mountPoint = mountPoint
        self.report = report
        (nudges, nudge) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Until the task is cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await followEvents() }
            group.addTask { await look() }
        }
    }

    private static let telling: Set<String> = [
        "conflict", "error", "online", "offline", "deletionsHeld", "deletionsReleased", EventRecord.lost,
    ]

    private func followEvents() async {
        var pause = 1.0
        while !Task.isCancelled {
            if let client {
                _ = try? await client.follow(.events(last: 0, follows: true)) { news in
                    pause = 1
                    guard case .events(let events) = news else { return }
                    if events.contains(where: { Self.telling.contains($0.event) }) { nudge.yield() }
                    // The daemon skips events for a slow reader, so that a busy domain costs this process little.
                    try await Task.sleep(for: .milliseconds(100))
                }
            }
            nudge.yield()
            try? await Task.sleep(for: .seconds(pause))
            pause = min(pause * 2, 10)
        }
    }

    /// At most two looks a second.
    private func look() async {
        var nudges = nudges.makeAsyncIterator()
        while !Task.isCancelled {
            let snapshot = await read()
            if Task.isCancelled { return }
            await report(snapshot)
            let timer = Task {
                try await Task.sleep(for: Self.interval(snapshot))
                nudge.yield()
            }
            defer { timer.cancel() }
            try? await Task.sleep(for: .milliseconds(500))
            await nudges.next()
        }
    }

    /// Often where people watch something pass or wait for an end; seldom where an answer is long.
    private static func interval(_ snapshot: DomainSnapshot?) -> Duration {
        guard let snapshot else { return .seconds(5) }
        let status = snapshot.status
        if status.pending.count > 1_000 { return .seconds(15) }
        if status.transfers?.isEmpty == false { return .seconds(1) }
        return status.pending.isEmpty && snapshot.conflicts.isEmpty && status.heldDeletions == nil
            ? .seconds(5) : .seconds(2)
    }

    private var client: ControlClient? {
        (try? SocketDirectory.socketPath(mountPoint: mountPoint)).map(ControlClient.init(socketPath:))
    }

    private func read() async -> DomainSnapshot? {
        guard let client, case .domain(let status, _)? = try? await client.send(.domain, timeout: 30) else {
            return nil
        }
        guard status.conflicts ?? 0 > 0 else { return DomainSnapshot(status) }
        guard case .conflicts(let all)? = try? await client.send(.conflicts, timeout: 30) else { return nil }
        return DomainSnapshot(status, conflicts: all)
    }
}

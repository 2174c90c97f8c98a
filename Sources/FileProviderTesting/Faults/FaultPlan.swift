public import FileProvider
import Synchronization

/// What is to go wrong: a test's remote control of a ``FaultInjectingProvider``. May be changed at any
/// time, also while calls are running.
public final class FaultPlan: Sendable {
    private struct State {
        var latency = Duration.zero
        var bandwidth: Int?
        var isOffline = false
        var faults: [Hook: [Fault]] = [:]
        var attempts: [Hook: Int] = [:]
        var finishedLateChanges = 0
    }
    private let state = Mutex(State())

    /// A plan in which nothing goes wrong.
    public init() {}

    /// How long every call waits before it begins.
    public var latency: Duration {
        get { state.withLock { $0.latency } }
        set { state.withLock { $0.latency = newValue } }
    }

    /// How many bytes a second each transfer moves, up or down; nil is no limit.
    public var bandwidth: Int? {
        get { state.withLock { $0.bandwidth } }
        set {
            precondition(newValue.map { $0 > 0 } ?? true, "a bandwidth of nothing is a hang: use a Gate")
            state.withLock { $0.bandwidth = newValue }
        }
    }

    /// While true every call throws `FileProviderError.Code.serverUnreachable` at once, and transfers
    /// that are running break off with it.
    public var isOffline: Bool {
        get { state.withLock { $0.isOffline } }
        set { state.withLock { $0.isOffline = newValue } }
    }

    /// The next `times` calls of `hook` that have no fault yet get this one. A fault that means nothing
    /// to the hook (a truncated download to a deletion) is used up without effect.
    public func inject(_ fault: Fault, into hook: Hook, times: Int = 1) {
        state.withLock { $0.faults[hook, default: []] += Array(repeating: fault, count: times) }
    }

    /// The next `times` calls of `hook` throw this.
    public func fail(_ hook: Hook, times: Int = 1, with code: FileProviderError.Code) {
        inject(.error(FileProviderError(code, "A test wanted it so.")), into: hook, times: times)
    }

    /// Nothing goes wrong any more with this hook, but for what goes wrong with all of them.
    public func clear(_ hook: Hook) { state.withLock { $0.faults[hook] = nil } }

    /// Nothing goes wrong any more: no latency, no limit, online, no faults. Calls that hang go on hanging.
    public func clear() {
        state.withLock { state in
            let before = state
            state = State()
            state.attempts = before.attempts
            state.finishedLateChanges = before.finishedLateChanges
        }
    }

    /// How many faults for `hook` have not been used yet.
    public func remainingFaults(for hook: Hook) -> Int { state.withLock { $0.faults[hook]?.count ?? 0 } }

    /// How many calls of `hook` there were, failed ones and those while offline included.
    public func attempts(of hook: Hook) -> Int { state.withLock { $0.attempts[hook] ?? 0 } }

    /// How many changes of ``Disconnection/doneLater(_:)`` the store has made or refused by now.
    public var finishedLateChanges: Int { state.withLock { $0.finishedLateChanges } }

    // MARK: For the provider

    /// Carries a change out when the gate is open; nobody waits for its answer.
    func later(_ gate: Gate, _ change: @escaping @Sendable () async throws(FileProviderError) -> Void) {
        Task {
            do {
                try await gate.pass()
                try await change()
            } catch {
                // The store refused it: nobody is there to be told.
            }
            state.withLock { $0.finishedLateChanges += 1 }
        }
    }

    /// Begins a call: waits, fails, or tells what else must go wrong with it.
    func begin(_ hook: Hook) async throws(FileProviderError) -> Fault? {
        let (fault, latency) = state.withLock { state -> (Fault?, Duration) in
            state.attempts[hook, default: 0] += 1
            // Faults wait until somebody could notice them.
            if state.isOffline { return (nil, .zero) }
            guard var faults = state.faults[hook], !faults.isEmpty else { return (nil, state.latency) }
            let fault = faults.removeFirst()
            state.faults[hook] = faults
            return (fault, state.latency)
        }
        try checkOnline()
        try await sleep(latency)
        try checkOnline()
        switch fault {
        case .error(let error): throw error
        case .hang(let gate):
            try await gate.pass()
            try checkOnline()
            return nil
        default: return fault
        }
    }

    /// Waits as long as the transfer of so many bytes takes.
    func transfer(_ count: Int) async throws(FileProviderError) {
        try checkOnline()
        if let bandwidth {
            try await sleep(.nanoseconds(Int64(Double(count) / Double(bandwidth) * 1e9)))
            try checkOnline()
        }
    }

    private func checkOnline() throws(FileProviderError) {
        if isOffline { throw FileProviderError(.serverUnreachable, "A test has cut the line.") }
    }

    private func sleep(_ duration: Duration) async throws(FileProviderError) {
        guard duration > .zero else { return }
        do {
            try await Task.sleep(for: duration)
        } catch {
            throw FileProviderError(.cancelled, "Cancelled while waiting for the store.")
        }
    }
}

public import FileProvider
import Synchronization

/// The faults to come: a test's control of a ``FaultInjectingProvider``. May be changed at any time, also while calls
/// run.
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

    /// A plan without faults.
    public init() {}

    /// The time that every call waits before it begins.
    public var latency: Duration {
        get { state.withLock { $0.latency } }
        set { state.withLock { $0.latency = newValue } }
    }

    /// The bytes per second of each transfer, up or down; nil: no limit.
    public var bandwidth: Int? {
        get { state.withLock { $0.bandwidth } }
        set {
            precondition(newValue.map { $0 > 0 } ?? true, "a bandwidth must be positive: use a Gate for a hang")
            state.withLock { $0.bandwidth = newValue }
        }
    }

    /// While true every call throws `FileProviderError.Code.serverUnreachable` at once, as do running transfers.
    public var isOffline: Bool {
        get { state.withLock { $0.isOffline } }
        set { state.withLock { $0.isOffline = newValue } }
    }

    /// The next `times` calls of `hook` that have no fault yet get this one. A fault that does not apply to the hook (a
    /// truncated download to a deletion) is used up without effect.
    public func inject(_ fault: Fault, into hook: Hook, times: Int = 1) {
        state.withLock { $0.faults[hook, default: []] += Array(repeating: fault, count: times) }
    }

    /// The next `times` calls of `hook` throw this code.
    public func fail(_ hook: Hook, times: Int = 1, with code: FileProviderError.Code) {
        inject(.error(FileProviderError(code, "a test made this call fail")), into: hook, times: times)
    }

    /// Removes the faults of this hook; latency, bandwidth and being offline stay.
    public func clear(_ hook: Hook) { state.withLock { $0.faults[hook] = nil } }

    /// Removes all faults, latency and bandwidth, and goes online. Calls that hang go on hanging.
    public func clear() {
        state.withLock { state in
            let before = state
            state = State()
            state.attempts = before.attempts
            state.finishedLateChanges = before.finishedLateChanges
        }
    }

    /// The number of unused faults for `hook`.
    public func remainingFaults(for hook: Hook) -> Int { state.withLock { $0.faults[hook]?.count ?? 0 } }

    /// The number of calls of `hook`, including failed ones and those made while offline.
    public func attempts(of hook: Hook) -> Int { state.withLock { $0.attempts[hook] ?? 0 } }

    /// The number of changes of ``Disconnection/doneLater(_:)`` that the store has made or refused.
    public var finishedLateChanges: Int { state.withLock { $0.finishedLateChanges } }

    // MARK: For the provider

    /// Makes a change when the gate is open; nobody waits for its answer.
    func later(_ gate: Gate, _ change: @escaping @Sendable () async throws(FileProviderError) -> Void) {
        Task {
            do {
                try await gate.pass()
                try await change()
            } catch {
                // The store refused: no caller is left to throw to.
            }
            state.withLock { $0.finishedLateChanges += 1 }
        }
    }

    /// Begins a call: waits, throws, or returns the fault that the caller must apply.
    func begin(_ hook: Hook) async throws(FileProviderError) -> Fault? {
        let (fault, latency) = state.withLock { state -> (Fault?, Duration) in
            state.attempts[hook, default: 0] += 1
            // Faults are kept until a call can meet them.
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

    /// Waits as long as the transfer of this many bytes takes.
    func transfer(_ count: Int) async throws(FileProviderError) {
        try checkOnline()
        if let bandwidth {
            try await sleep(.nanoseconds(Int64(Double(count) / Double(bandwidth) * 1e9)))
            try checkOnline()
        }
    }

    private func checkOnline() throws(FileProviderError) {
        if isOffline { throw FileProviderError(.serverUnreachable, "a test has cut the line") }
    }

    private func sleep(_ duration: Duration) async throws(FileProviderError) {
        guard duration > .zero else { return }
        do {
            try await Task.sleep(for: duration)
        } catch {
            throw FileProviderError(.cancelled, "cancelled while waiting for the store")
        }
    }
}

import ControlAPI
import Coordination
import Synchronization

/// Processes that claims do not end before: `hydrant coordinate` may be killed, and its command go on.
final class BoundProcesses: Sendable {
    private let processes = Mutex<[ClaimID: [ServingProcess]]>([:])

    func add(_ claim: ClaimID, _ process: ServingProcess) {
        processes.withLock { $0[claim, default: []].append(process) }
    }

    /// Returns when all of them have ended.
    func wait(for claim: ClaimID) async {
        while let process = processes.withLock({ $0[claim]?.popLast() }) {
            while await !process.hasEnded(within: 3_600) {}
        }
        processes.withLock { $0[claim] = nil }
    }
}

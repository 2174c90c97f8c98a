import ControlAPI
import Coordination
import Synchronization

/// Processes that must end before their claim ends: if `hydrant coordinate` is killed, its command may go on.
final class BoundProcesses: Sendable {
    private let processes = Mutex<[ClaimID: [ServingProcess]]>([:])

    func add(_ claim: ClaimID, _ process: ServingProcess) {
        processes.withLock { $0[claim, default: []].append(process) }
    }

    /// Returns when all processes of the claim have ended.
    func wait(for claim: ClaimID) async {
        while let process = processes.withLock({ $0[claim]?.popLast() }) {
            while await !process.hasEnded(within: 3_600) {}
        }
        processes.withLock { $0[claim] = nil }
    }
}

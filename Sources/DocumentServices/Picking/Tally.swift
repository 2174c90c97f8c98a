package import ControlAPI
import Surroundings
package import SyncEngine
import Synchronization

/// The progress of a request that downloads documents.
package final class Tally: Sendable {
    private struct State {
        var found = 0
        var finished = 0
        var bytesFound: Int64 = 0
        var bytesFinished: Int64 = 0
        /// The document being downloaded, relative to the mount point.
        var current: (path: String, missing: Int64)?
    }
    private let state = Mutex(State())

    package init() {}

    package func found(_ bytes: Int64) {
        state.withLock { state in
            state.found += 1
            state.bytesFound = state.bytesFound.adding(atMost: bytes)
        }
    }

    package func begin(_ path: String, _ missing: Int64) { state.withLock { $0.current = (path, missing) } }

    package func finish() {
        state.withLock { state in
            state.finished += 1
            state.bytesFinished = state.bytesFinished.adding(atMost: state.current?.missing ?? 0)
            state.current = nil
        }
    }

    /// - Parameter shown: converts a transfer to its public form.
    package func progress(_ transfers: [Transfer], _ shown: (Transfer) -> RunningTransfer) -> TransferProgress {
        let state = state.withLock { $0 }
        let own = transfers.filter { $0.direction == .download && $0.path == state.current?.path }
        let underWay = min(state.current?.missing ?? 0, own.map(\.done).boundedSum)
        return TransferProgress(
            done: state.finished, total: state.found, bytes: state.bytesFinished.adding(atMost: underWay),
            bytesTotal: state.bytesFound, running: own.map(shown))
    }
}

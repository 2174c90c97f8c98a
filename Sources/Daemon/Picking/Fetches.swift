import ControlAPI
import Foundation
import ItemCatalog
import Synchronization

/// Downloads that were asked for by somebody who may go away: they go on, and whoever asks next joins them.
final class Fetches: Sendable {
    struct Fetch: Sendable {
        var task: Task<ControlResponse, Never>
        var tally: Tally
    }

    private let running = Mutex<[InodeID: Fetch]>([:])

    /// The one that is under way, or a new one.
    func join(_ inode: InodeID, _ body: @escaping @Sendable (Tally) async -> ControlResponse) -> Fetch {
        running.withLock { running in
            if let fetch = running[inode], !fetch.task.isCancelled { return fetch }
            let tally = Tally()
            let task = Task {
                let answer = await body(tally)
                self.running.withLock { $0[inode] = nil }
                return answer
            }
            let fetch = Fetch(task: task, tally: tally)
            running[inode] = fetch
            return fetch
        }
    }

    /// Says whether there was one.
    func cancel(_ inode: InodeID) -> Bool {
        guard let fetch = running.withLock({ $0.removeValue(forKey: inode) }) else { return false }
        fetch.task.cancel()
        return true
    }

    func endAll() {
        for fetch in running.withLock({ $0.values }) { fetch.task.cancel() }
    }
}

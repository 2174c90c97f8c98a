import ControlAPI
import Foundation
import Synchronization
import Trees

/// Downloads at the request of programs that may quit: a download goes on without its program, and the next request
/// joins it.
final class Fetches: Sendable {
    struct Fetch: Sendable {
        var task: Task<ControlResponse, Never>
        var tally: Tally
        var number: Int
    }

    private struct State {
        var fetches: [InodeID: Fetch] = [:]
        var count = 0
    }
    private let running = Mutex(State())

    /// Returns the running download, or starts a new one.
    func join(_ inode: InodeID, _ body: @escaping @Sendable (Tally) async -> ControlResponse) -> Fetch {
        running.withLock { running in
            if let fetch = running.fetches[inode], !fetch.task.isCancelled { return fetch }
            let tally = Tally()
            running.count += 1
            let number = running.count
            let task = Task {
                let answer = await body(tally)
                // (If this download was cancelled, a new one may have replaced it.)
                self.running.withLock { if $0.fetches[inode]?.number == number { $0.fetches[inode] = nil } }
                return answer
            }
            let fetch = Fetch(task: task, tally: tally, number: number)
            running.fetches[inode] = fetch
            return fetch
        }
    }

    /// Returns whether there was a download.
    func cancel(_ inode: InodeID) -> Bool {
        guard let fetch = running.withLock({ $0.fetches.removeValue(forKey: inode) }) else { return false }
        fetch.task.cancel()
        return true
    }

    func endAll() {
        for fetch in running.withLock({ $0.fetches.values }) { fetch.task.cancel() }
    }
}

import FileProvider
import Synchronization

/// Listings of folders for items that are missing from them: simultaneous searches of one folder share a listing, and a
/// folder that lost a thousand documents is not listed a thousand times.
final class FolderSearches: Sendable {
    private struct State {
        var running: [ItemIdentifier: Task<FileProviderError?, Never>] = [:]
        /// The time from which a folder may be searched again: searches take at most a tenth of the time.
        var next: [ItemIdentifier: ContinuousClock.Instant] = [:]
    }
    private let state = Mutex(State())

    /// - Returns: why the folder could not be listed; nil: it was listed, now or a moment ago.
    func search(
        _ folder: ItemIdentifier, _ list: @escaping @Sendable () async -> FileProviderError?
    ) async -> FileProviderError? {
        let task = state.withLock { state -> Task<FileProviderError?, Never>? in
            if let task = state.running[folder] { return task }
            if let next = state.next[folder], next > .now { return nil }
            let task = Task {
                let start = ContinuousClock.now
                let failure = await list()
                self.ended(folder, start.duration(to: .now))
                return failure
            }
            state.running[folder] = task
            return task
        }
        return await task?.value
    }

    private func ended(_ folder: ItemIdentifier, _ time: Duration) {
        state.withLock { state in
            state.running[folder] = nil
            if state.next.count > 1_000 { state.next = state.next.filter { $0.value > .now } }
            state.next[folder] = .now + time * 10
        }
    }
}

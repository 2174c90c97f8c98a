import FileProvider
import HTTPTransport
import Synchronization
import Waiting

/// Locks on folders, for putting documents into them: while a client holds one of depth 0, no other client adds
/// anything to the folder or takes anything out of it (RFC 4918, 7.4). Tasks that arrive while this client holds the
/// lock share it.
///
/// A lock for each document would take two more requests for each; and Apache's mod_dav_fs loses locks when several are
/// taken at once, keeps some that were given back, and at last breaks its database until the server is restarted
/// (2.4.68: of 300 locks of new names, 8 at once, every second was lost; then BDB0087, run recovery).
final class FolderTurns: Sendable {
    private struct Turn {
        let number: UInt64
        let lock: Task<Result<WriteLock?, FileProviderError>, Never>
        let start = ContinuousClock.now
        /// No other task may join to put something there.
        var isClosed = false
        var users = 1
        /// Finishes when the lock is given back.
        let ended: Task<Void, Never>
        let end: AsyncStream<Void>.Continuation
    }
    private struct State {
        var turns: [HTTPLocation: Turn] = [:]
        var lastNumber: UInt64 = 0
    }
    private let state = Mutex(State())
    /// Serialises tasks on one place, which share the folder's lock.
    private let places = AsyncLocks<HTTPLocation>()

    /// The longest time that other clients must wait, and the time that they then get.
    private static let longest = Duration.seconds(3)
    private static let rest = Duration.milliseconds(200)
    /// Keeps the lock for a program that makes one document after another.
    private static let linger = Duration.milliseconds(40)

    /// Puts a document into a folder, at a place that no other task uses.
    ///
    /// - Parameter body: gets the lock; nil: the server has no lock for this folder.
    /// - Throws: ``FileProviderError/Code/busy`` when another client keeps it locked.
    func during<T: Sendable>(
        _ place: HTTPLocation, _ client: DAVClient, _ body: (WriteLock?) async throws(FileProviderError) -> T
    ) async throws(FileProviderError) -> T {
        let folder = place.folder
        let cancelled = FileProviderError(.cancelled, "given up")
        return try await places.during(place, orThrow: cancelled) { () async throws(FileProviderError) in
            let (number, lock) = await enter(folder, client)
            defer { leave(folder, number, client) }
            return try await body(try await lock.value.get())
        }
    }

    /// Runs `body` with the locks that are held on these folders anyway.
    func withLocks<T: Sendable>(
        on folders: [HTTPLocation], _ client: DAVClient, _ body: ([WriteLock]) async throws(FileProviderError) -> T
    ) async throws(FileProviderError) -> T {
        var joined: [(HTTPLocation, UInt64)] = []
        defer { for (folder, number) in joined { leave(folder, number, client) } }
        var locks: [WriteLock] = []
        for folder in folders {
            guard let (number, task) = join(folder) else { continue }
            joined.append((folder, number))
            if case .success(let lock?) = await task.value { locks.append(lock) }
        }
        return try await body(locks)
    }

    /// Gives all locks back before the connections are closed, as they would keep other clients out for a minute.
    /// Ignores a server that does not answer.
    func endAll(_ client: DAVClient) async {
        let turns = state.withLock { state in
            let turns = state.turns
            // So that the last user does not end it as well.
            for folder in turns.keys { state.turns[folder]?.users = -1 }
            return turns
        }
        let unlocking = Task {
            for turn in turns.values where turn.users >= 0 {
                if case .success(let lock?) = await turn.lock.value { await lock.unlock(client) }
            }
            for (folder, turn) in turns where turn.users < 0 {
                while !Task.isCancelled, state.withLock({ $0.turns[folder]?.number == turn.number }) {
                    try? await Task.sleep(for: .milliseconds(10))
                }
            }
        }
        let limit = Task {
            try await Task.sleep(for: Self.longest)
            unlocking.cancel()
        }
        await unlocking.value
        limit.cancel()
    }

    private typealias Entry = (number: UInt64, lock: Task<Result<WriteLock?, FileProviderError>, Never>)

    private func enter(_ folder: HTTPLocation, _ client: DAVClient) async -> Entry {
        while true {
            let (entry, ended) = state.withLock { state -> (Entry?, Task<Void, Never>?) in
                guard let turn = state.turns[folder] else { return (Self.begin(folder, client, &state), nil) }
                if turn.start.duration(to: .now) > Self.longest { state.turns[folder]?.isClosed = true }
                guard state.turns[folder]?.isClosed == false else { return (nil, turn.ended) }
                state.turns[folder]?.users += 1
                return ((turn.number, turn.lock), nil)
            }
            if let entry { return entry }
            await ended?.value
        }
    }

    /// Joins until the lock is given back, which may already be under way.
    private func join(_ folder: HTTPLocation) -> Entry? {
        state.withLock { state in
            guard let turn = state.turns[folder], turn.users >= 0 else { return nil }
            state.turns[folder]?.users += 1
            return (turn.number, turn.lock)
        }
    }

    private static func begin(_ folder: HTTPLocation, _ client: DAVClient, _ state: inout State) -> Entry {
        state.lastNumber += 1
        // The first task may be cancelled, but the lock is shared.
        let lock = Task { () -> Result<WriteLock?, FileProviderError> in
            do throws(FileProviderError) {
                return .success(try await WriteLock.take(folder, client, isAlone: true))
            } catch {
                return .failure(error)
            }
        }
        let (stream, end) = AsyncStream<Void>.makeStream()
        let turn = Turn(number: state.lastNumber, lock: lock, ended: Task { for await _ in stream {} }, end: end)
        state.turns[folder] = turn
        return (turn.number, lock)
    }

    private func leave(_ folder: HTTPLocation, _ number: UInt64, _ client: DAVClient) {
        let isLast = state.withLock { state in
            state.turns[folder]?.users -= 1
            return state.turns[folder]?.users == 0
        }
        guard isLast else { return }
        Task {
            try? await Task.sleep(for: Self.linger)
            await end(folder, number, client)
        }
    }

    /// Does nothing if another task has joined since.
    private func end(_ folder: HTTPLocation, _ number: UInt64, _ client: DAVClient) async {
        let turn = state.withLock { state -> Turn? in
            guard let turn = state.turns[folder], turn.number == number, turn.users == 0 else { return nil }
            // (Two tasks may both have been the last for a moment: the second finds the turn ending.)
            state.turns[folder]?.users = -1
            state.turns[folder]?.isClosed = true
            return turn
        }
        guard let turn else { return }
        if case .success(let lock?) = await turn.lock.value { await lock.unlock(client) }
        // Other clients poll for the lock, and must find it free once.
        if turn.isClosed { try? await Task.sleep(for: Self.rest) }
        state.withLock { $0.turns[folder] = nil }
        turn.end.finish()
    }
}

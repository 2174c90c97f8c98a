import Synchronization

/// One mutex per key; waiting tasks enter in the order of arrival.
package final class AsyncLocks<Key: Hashable & Sendable>: Sendable {
    private let entrances = Mutex<[Key: (semaphore: AsyncSemaphore, users: Int)]>([:])

    package init() {}

    /// - Parameter cancelled: thrown when the task is cancelled before its turn comes.
    package func during<T: Sendable, Failure: Error>(
        _ key: Key, orThrow cancelled: @autoclosure () -> Failure, _ body: () async throws(Failure) -> T
    ) async throws(Failure) -> T {
        let semaphore = entrances.withLock { entrances in
            var entrance = entrances[key] ?? (AsyncSemaphore(1), 0)
            entrance.users += 1
            entrances[key] = entrance
            return entrance.semaphore
        }
        defer {
            entrances.withLock { entrances in
                guard var entrance = entrances[key] else { return }
                entrance.users -= 1
                entrances[key] = entrance.users > 0 ? entrance : nil
            }
        }
        do { try await semaphore.enter() } catch { throw cancelled() }
        defer { semaphore.leave() }
        return try await body()
    }
}

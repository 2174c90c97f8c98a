import Synchronization

/// A mutex for each key; waiting tasks enter in the order of their arrival.
package final class OneAtATime<Key: Hashable & Sendable>: Sendable {
    private let entrances = Mutex<[Key: (lanes: Lanes, users: Int)]>([:])

    package init() {}

    /// - Parameter cancelled: thrown when the task is cancelled before its turn comes.
    package func during<T: Sendable, Failure: Error>(
        _ key: Key, orThrow cancelled: @autoclosure () -> Failure, _ body: () async throws(Failure) -> T
    ) async throws(Failure) -> T {
        let lanes = entrances.withLock { entrances in
            var entrance = entrances[key] ?? (Lanes(1), 0)
            entrance.users += 1
            entrances[key] = entrance
            return entrance.lanes
        }
        defer {
            entrances.withLock { entrances in
                guard var entrance = entrances[key] else { return }
                entrance.users -= 1
                entrances[key] = entrance.users > 0 ? entrance : nil
            }
        }
        do { try await lanes.enter() } catch { throw cancelled() }
        defer { lanes.leave() }
        return try await body()
    }
}

package import FileProvider
import Synchronization

/// A mutex for each key; waiting tasks enter in the order of their arrival.
package final class OneAtATime<Key: Hashable & Sendable>: Sendable {
    private let entrances = Mutex<[Key: (lanes: Lanes, users: Int)]>([:])

    package init() {}

    /// - Throws: ``FileProviderError/Code/cancelled``, and what `body` throws.
    package func during<T: Sendable>(
        _ key: Key, _ body: () async throws(FileProviderError) -> T
    ) async throws(FileProviderError) -> T {
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
        do { try await lanes.enter() } catch { throw FileProviderError(.cancelled, "cancelled while waiting") }
        defer { lanes.leave() }
        return try await body()
    }
}

import GRDB
import Locking

/// Read-only connections, one for each thread that reads at a time.
///
/// Not GRDB's pool: it asks for the schema version before each look-up, which made two queries of one.
final class ReaderPool: Sendable {
    private struct State {
        var idle: [DatabaseQueue] = []
        var isClosed = false
    }
    private let state = AdaptiveMutex(State())
    private let path: String
    private let configuration: Configuration
    private let queries: PreparedQueries.Table

    init(path: String, configuration: Configuration, queries: PreparedQueries.Table) {
        self.queries = queries
        self.path = path
        var configuration = configuration
        configuration.readonly = true
        configuration.label = "catalog.reader"
        // Each commit invalidates the page cache: cache no more than one look-up needs (SQLite's default is 2 MiB).
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -512") }
        self.configuration = configuration
    }

    /// Prefer the connection used last: its pages are in memory.
    func read<T>(_ body: (Database) throws -> T) throws -> T {
        let connection =
            try state.withLock { $0.idle.popLast() } ?? DatabaseQueue(path: path, configuration: configuration)
        defer { giveBack(connection) }
        return try connection.unsafeRead(body)
    }

    private func giveBack(_ connection: DatabaseQueue) {
        let isKept = state.withLock { state in
            // Each connection keeps pages in memory, and a burst of readers ends.
            guard !state.isClosed, state.idle.count < 8 else { return false }
            state.idle.append(connection)
            return true
        }
        if isKept { return }
        connection.unsafeReentrantRead { queries.forget($0) }
        try? connection.close()
    }

    /// Releases the pages of idle connections.
    func releaseMemory() {
        let idle = state.withLock { state in
            defer { state.idle = [] }
            return state.idle
        }
        for connection in idle {
            try? connection.unsafeRead { try $0.execute(sql: "PRAGMA shrink_memory") }
            giveBack(connection)
        }
    }

    /// Nobody may be reading.
    func close() {
        let idle = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for connection in idle { try? connection.close() }
    }
}

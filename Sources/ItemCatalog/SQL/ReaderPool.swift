import GRDB
import Locking

/// Connections that only look, one for each thread that does at a time.
///
/// Not GRDB's pool, which asks for the version of the schema before each look: of a look-up that made two.
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
        // Each commit makes all of it old: more than what one look goes through need not be kept (SQLite's own: 2 MiB).
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -512") }
        self.configuration = configuration
    }

    /// One that was in use last comes first: its pages are in memory.
    func read<T>(_ body: (Database) throws -> T) throws -> T {
        let connection =
            try state.withLock { $0.idle.popLast() } ?? DatabaseQueue(path: path, configuration: configuration)
        defer { giveBack(connection) }
        return try connection.unsafeRead(body)
    }

    private func giveBack(_ connection: DatabaseQueue) {
        let isKept = state.withLock { state in
            // Each has pages in memory; a rush of readers is not for ever.
            guard !state.isClosed, state.idle.count < 8 else { return false }
            state.idle.append(connection)
            return true
        }
        if isKept { return }
        connection.unsafeReentrantRead { queries.forget($0) }
        try? connection.close()
    }

    /// Gives up the pages that connections nobody uses just now have in memory.
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

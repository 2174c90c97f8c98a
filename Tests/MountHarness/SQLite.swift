import Foundation

/// The SQLite library of this process, for statements that a catalog would never run.
package enum SQLite {
    private typealias Open = @convention(c) (UnsafePointer<CChar>, UnsafeMutablePointer<OpaquePointer?>) -> Int32
    private typealias Execute =
        @convention(c) (OpaquePointer?, UnsafePointer<CChar>, Row?, UnsafeMutableRawPointer?, UInt) -> Int32
    private typealias Texts = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private typealias Row = @convention(c) (UnsafeMutableRawPointer?, Int32, Texts?, Texts?) -> Int32
    private typealias Close = @convention(c) (OpaquePointer?) -> Int32
    private typealias Wait = @convention(c) (OpaquePointer?, Int32) -> Int32

    /// The result of a query, as text; NULL is empty.
    @discardableResult
    package static func execute(_ sql: String, in path: String) throws -> [[String]] {
        let library = dlopen("libsqlite3.so.0", RTLD_NOW)
        guard let open = dlsym(library, "sqlite3_open"), let run = dlsym(library, "sqlite3_exec"),
            let close = dlsym(library, "sqlite3_close"), let wait = dlsym(library, "sqlite3_busy_timeout")
        else { throw HarnessError("no SQLite") }
        var handle: OpaquePointer?
        guard unsafeBitCast(open, to: Open.self)(path, &handle) == 0 else { throw HarnessError(path) }
        defer { _ = unsafeBitCast(close, to: Close.self)(handle) }
        // The catalog may be writing at the moment.
        _ = unsafeBitCast(wait, to: Wait.self)(handle, 60_000)
        var rows: [[String]] = []
        let collect: Row = { rows, count, values, _ in
            let row = (0..<Int(count)).map { index in values?[index].map { String(cString: $0) } ?? "" }
            rows?.assumingMemoryBound(to: [[String]].self).pointee.append(row)
            return 0
        }
        let status = withUnsafeMutablePointer(to: &rows) {
            unsafeBitCast(run, to: Execute.self)(handle, sql, collect, UnsafeMutableRawPointer($0), 0)
        }
        guard status == 0 else { throw HarnessError("\(sql): SQLite error \(status)") }
        return rows
    }
}

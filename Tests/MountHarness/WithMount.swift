import Foundation

/// Mounts a store for one scenario, and always cleans up.
///
/// The body runs on a thread of its own and may block. When it takes longer than `options.limit`, the daemon is killed
/// and the mount is removed by force, which ends every hang; the test fails and the run goes on.
///
/// - Parameters:
///   - seed: fills the store, whose path it gets, before the mount.
package func withMount(
    _ options: MountOptions = MountOptions(), seed: @escaping @Sendable (String) throws -> Void = { _ in },
    file: String = #fileID, line: Int = #line, _ body: @escaping @Sendable (MountedStore) throws -> Void
) async throws {
    try await withSandbox(options, file: file, line: line) { store in
        try seed(store.store)
        try store.mount()
        try body(store)
    }
}

/// As ``withMount(_:seed:_:)``, without mounting anything.
package func withSandbox(
    _ options: MountOptions = MountOptions(), file: String = #fileID, line: Int = #line,
    _ body: @escaping @Sendable (MountedStore) throws -> Void
) async throws {
    try await withMachines(1, options, file: file, line: line) { try body($0[0]) }
}

/// As ``withSandbox(_:_:)``, for several machines, that is, domains with a daemon each. The body decides which server
/// they share (``MountedStore/use(_:)``).
package func withMachines(
    _ count: Int, _ options: MountOptions = MountOptions(), file: String = #fileID, line: Int = #line,
    _ body: @escaping @Sendable ([MountedStore]) throws -> Void
) async throws {
    let weight = options.isAlone ? MountSlots.shared.count : 1
    await MountSlots.shared.take(weight)
    defer { MountSlots.shared.give(weight) }
    let began = ContinuousClock.now
    defer { ScenarioTimes.add("\(file):\(line)", began.duration(to: .now), weight) }
    try await onThread {
        let stores = try (0..<count).map { _ in MountedStore(try Sandbox(), options) }
        let watchdog = Watchdog(limit: options.limit) { for store in stores { store.sandbox.forceDown() } }
        let result = Result { try body(stores) }
        let log = stores.map(\.logTail).joined(separator: "\n")
        watchdog.end()
        let cleaned = Result {
            for store in stores { try store.sandbox.remove() }
            for store in stores { store.endServer() }
        }
        if watchdog.hasFired {
            throw HarnessError("the scenario took longer than \(options.limit) s and was ended by force; log:\n\(log)")
        }
        do { try result.get() } catch { throw HarnessError("\(error)\nlog:\n\(log)") }
        try cleaned.get()
    }
}

/// How long each scenario had its place among those that run at once, for those who shorten the run:
/// `HYDRANT_TEST_TIMES=FILE` gets a line `SECONDS PLACES FILE:LINE` for each.
private enum ScenarioTimes {
    static func add(_ name: String, _ time: Duration, _ weight: Int) {
        guard let path = ProcessInfo.processInfo.environment["HYDRANT_TEST_TIMES"],
            let file = fopen(path, "ae")
        else { return }
        fputs("\(Int(time / .seconds(1))) \(weight) \(name)\n", file)
        fclose(file)
    }
}

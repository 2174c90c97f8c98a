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
    _ body: @escaping @Sendable (MountedStore) throws -> Void
) async throws {
    try await withSandbox(options) { store in
        try seed(store.store)
        try store.mount()
        try body(store)
    }
}

/// As ``withMount(_:seed:_:)``, without mounting anything.
package func withSandbox(
    _ options: MountOptions = MountOptions(), _ body: @escaping @Sendable (MountedStore) throws -> Void
) async throws {
    try await withMachines(1, options) { try body($0[0]) }
}

/// As ``withSandbox(_:_:)``, for several machines, that is, domains with a daemon each. The body decides which server
/// they share (``MountedStore/use(_:)``).
package func withMachines(
    _ count: Int, _ options: MountOptions = MountOptions(),
    _ body: @escaping @Sendable ([MountedStore]) throws -> Void
) async throws {
    let weight = options.isAlone ? MountSlots.shared.count : 1
    await MountSlots.shared.take(weight)
    defer { MountSlots.shared.give(weight) }
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

package import FileProvider
package import SyncEngine

/// Runs a scenario over a provider in this process, without a mount.
package func withStore(
    _ provider: any FileProviderExtension, times: SyncTimes = .quick, passthrough: Bool = false,
    _ body: @escaping @Sendable (InProcessStore) throws -> Void
) async throws {
    await MountSlots.shared.take(1)
    defer { MountSlots.shared.give(1) }
    try await onThread {
        let sandbox = try Sandbox()
        defer { do { try sandbox.remove() } catch { print("harness: \(error)") } }
        let store = try InProcessStore(
            provider: provider, directory: sandbox.scratch, times: times, passthrough: passthrough)
        let result = Result { try body(store) }
        try blocking { await store.stop() }
        try result.get()
    }
}

/// The errno of a failing call; nil if it succeeds. -1 for an error that is not an ``FSError``.
package func failure(_ body: () throws -> Void) -> Int32? {
    do {
        try body()
        return nil
    } catch { return (error as? FSError)?.errno ?? -1 }
}

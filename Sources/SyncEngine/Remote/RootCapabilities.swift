import FileProvider
import ItemCatalog
import Logging
import Trees

/// Learns the capabilities of the topmost folder, which no listing contains.
struct RootCapabilities: Sendable {
    let mount: MountState
    let client: StoreClient

    /// Asks until the provider has answered once; where it signals nothing, again every few minutes. Runs until its
    /// task is cancelled.
    func run() async {
        guard await mount.waitsAfterStart(client) else { return }
        var attempts: Int64 = 0
        while !Task.isCancelled {
            var seconds = RetryDelay.seconds(after: attempts, nil, mount.times)
            attempts += 1
            if await ask() {
                if client.signalsChanges { return }
                seconds = mount.times.poll * 10
                attempts = 0
            }
            do { try await mount.clock.sleep(for: .seconds(seconds)) } catch { return }
        }
    }

    /// Whether the provider answered.
    func ask() async -> Bool {
        do {
            let root = try await client.root()
            try mount.catalog.write { try $0.mergeRoot(root) }
            return true
        } catch {
            mount.logger.debug("cannot ask the store for the root folder", metadata: ["error": "\(error)"])
            return false
        }
    }
}

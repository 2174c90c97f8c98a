import FileProvider
import ItemCatalog
import Logging
import Trees

/// Learns what may be done in the topmost folder, which is in no listing.
struct RootCapabilities: Sendable {
    let context: SyncContext

    /// Until it was told once; where the provider signals nothing, again every few minutes. Runs until its task is
    /// cancelled.
    func run() async {
        guard await context.waitsForFirstLook() else { return }
        var attempts: Int64 = 0
        while !Task.isCancelled {
            var seconds = RetryDelay.seconds(after: attempts, nil, context.times)
            attempts += 1
            if await ask() {
                if context.client.signalsChanges { return }
                seconds = context.times.poll * 10
                attempts = 0
            }
            do { try await Task.sleep(for: .seconds(seconds)) } catch { return }
        }
    }

    /// Whether it was told.
    func ask() async -> Bool {
        do {
            let root = try await context.client.root()
            try context.catalog.write { try $0.mergeRoot(root) }
            return true
        } catch {
            context.logger.debug("nothing is known of the topmost folder", metadata: ["error": "\(error)"])
            return false
        }
    }
}

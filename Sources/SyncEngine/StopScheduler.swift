import FileProvider
import ItemCatalog
import Logging
import Synchronization

/// Calls `stopProvidingItem` a while after the last process let go of a document, and evicts it when the
/// provider says so.
final class StopScheduler: Sendable {
    private let context: SyncContext
    private let waiting = Mutex<[InodeID: Task<Void, Never>]>([:])

    init(context: SyncContext) { self.context = context }

    func released(_ inode: InodeID) {
        let context = context
        let task = Task(executorPreference: context.workers) {
            guard (try? await Task.sleep(for: .seconds(context.times.stopProviding))) != nil else { return }
            await self.stopProviding(inode)
        }
        waiting.withLock { waiting in
            waiting[inode]?.cancel()
            waiting[inode] = task
        }
    }

    func stop() {
        let tasks = waiting.withLock { waiting in
            defer { waiting = [:] }
            return Array(waiting.values)
        }
        for task in tasks { task.cancel() }
    }

    private func stopProviding(_ inode: InodeID) async {
        waiting.withLock { $0[inode] = nil }
        guard context.volume?.isOpen(inode) != true,
            let item = try? context.catalog.read({ try $0.item(of: inode) }), let identifier = item.identifier
        else { return }
        context.logger.debug("stopProvidingItem", metadata: ["item": "\(context.path(of: item))"])
        guard await context.provider.stopProvidingItem(identifier) == .evict else { return }
        do { _ = try Evictor(context: context).evict(inode) } catch {
            context.logger.debug("not evicted", metadata: ["item": "\(context.path(of: item))", "error": "\(error)"])
        }
    }
}

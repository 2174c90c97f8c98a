package import FileProvider
import Locking
import Logging

/// How full the store is, as the provider last said. Asked in the background, so that nobody waits.
package final class QuotaKeeper: Sendable {
    private let context: SyncContext
    private let wakes: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation

    init(context: SyncContext) {
        self.context = context
        (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Nil: the provider has not said, or never says.
    package var last: StoreQuota? { context.storeUse.withLock { $0 } }

    /// Something was sent to the store or changed there. Never blocks; from any thread.
    func wake() { waker.yield() }

    /// Runs until its task is cancelled.
    func run() async {
        guard context.client.reportsQuota, await context.waitsForFirstLook() else { return }
        await ask()
        while !Task.isCancelled {
            let timer = Task { [waker, seconds = context.times.quota] in
                if (try? await Task.sleep(for: .seconds(seconds))) != nil { waker.yield() }
            }
            var iterator = wakes.makeAsyncIterator()
            _ = await iterator.next()
            timer.cancel()
            // Ask once for many uploads.
            guard (try? await Task.sleep(for: .seconds(context.times.quotaAfterChange))) != nil else { return }
            await ask()
        }
    }

    private func ask() async {
        do {
            guard let quota = try await context.client.quota() else { return }
            context.storeUse.withLock { $0 = quota }
        } catch {
            // Keep the last answer.
            context.logger.debug("quota", metadata: ["error": "\(error)"])
        }
    }
}

package import FileProvider
import Locking
import Logging

/// How full the store is, as the provider last said. Asked in the background, so that nobody waits.
package final class QuotaKeeper: Sendable {
    private let use = AdaptiveMutex<StoreQuota?>(nil)
    private let mount: MountState
    private let client: StoreClient
    private let wakes: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation

    init(mount: MountState, client: StoreClient) {
        self.mount = mount
        self.client = client
        (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Nil: the provider has not said, or never says.
    package var last: StoreQuota? { use.withLock { $0 } }

    /// Something was sent to the store or changed there. Never blocks; from any thread.
    func wake() { waker.yield() }

    /// Runs until its task is cancelled.
    func run() async {
        guard client.reportsQuota, await mount.waitsAfterStart(client) else { return }
        await ask()
        while !Task.isCancelled {
            let timer = Task { [waker, clock = mount.clock, seconds = mount.times.quota] in
                if (try? await clock.sleep(for: .seconds(seconds))) != nil { waker.yield() }
            }
            var iterator = wakes.makeAsyncIterator()
            _ = await iterator.next()
            timer.cancel()
            // Ask once for many uploads.
            guard (try? await mount.clock.sleep(for: .seconds(mount.times.quotaAfterChange))) != nil else { return }
            await ask()
        }
    }

    private func ask() async {
        do {
            guard let quota = try await client.quota() else { return }
            use.withLock { $0 = quota }
        } catch {
            // Keep the last answer.
            mount.logger.debug("quota", metadata: ["error": "\(error)"])
        }
    }
}

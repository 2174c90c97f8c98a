import ContentStore
import FileProvider
import ItemCatalog
import Logging
import Trees

/// Makes downloaded bytes durable in the background: until then a note in the catalog says that a power loss discards
/// them.
final class DownloadSyncer: Sendable {
    private let catalog: Catalog
    private let store: ContentStore
    private let logger: Logger
    private let wakes: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation
    /// Downloads within this time are synced together.
    private static let delay = Duration.seconds(2)
    /// More files than this are synced by syncfs(2), with all writes of their file system: one commit of its journal.
    private static let few = 16

    init(catalog: Catalog, store: ContentStore, logger: Logger) {
        self.catalog = catalog
        self.store = store
        self.logger = logger
        (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Noted bytes came. Never blocks; from any thread.
    func added() { waker.yield() }

    /// Runs until its task is cancelled.
    func run() async {
        // Bytes left by a killed daemon.
        added()
        for await _ in wakes {
            if (try? await Task.sleep(for: Self.delay)) == nil { break }
            syncNow()
        }
    }

    /// Makes earlier downloads survive a power loss; the log says if that failed.
    func syncNow() {
        do {
            let waiting = try catalog.read { try $0.undurable() }
            if waiting.isEmpty { return }
            if waiting.count > Self.few { try store.synchronizeAll() }
            var durable: [UndurableContents] = []
            for contents in waiting {
                do throws(ContentError) {
                    let file = GenerationID(inode: contents.inode.rawValue, number: contents.number)
                    if waiting.count <= Self.few { try store.synchronizeBytes(file) }
                    durable.append(contents)
                } catch {
                    logger.error(
                        "cannot sync a download: check the disk; after a power loss, the document is downloaded again",
                        metadata: ["error": "\(error)"])
                }
            }
            try catalog.write { try $0.forgetUndurable(durable) }
        } catch {
            logger.error(
                "cannot record synced downloads; after a power loss, they are downloaded again",
                metadata: ["error": "\(error)"])
        }
    }
}

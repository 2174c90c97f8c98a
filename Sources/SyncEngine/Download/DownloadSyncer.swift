import ContentStore
import FileProvider
import ItemCatalog
import Logging
import Trees

/// Makes downloaded bytes durable behind the back of those who wait for them: until then a note in the catalog says that
/// a power loss takes them back.
final class DownloadSyncer: Sendable {
    private let catalog: Catalog
    private let store: ContentStore
    private let logger: Logger
    private let wakes: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation
    /// What comes within this time is synced together.
    private static let delay = Duration.seconds(2)
    /// More are synced with all that their file system has to write (syncfs(2)): one commit of its journal.
    private static let few = 16

    init(catalog: Catalog, store: ContentStore, logger: Logger) {
        self.catalog = catalog
        self.store = store
        self.logger = logger
        (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Bytes came that are noted. Never blocks; from any thread.
    func added() { waker.yield() }

    /// Runs until its task is cancelled.
    func run() async {
        // What a killed daemon has left.
        added()
        for await _ in wakes {
            if (try? await Task.sleep(for: Self.delay)) == nil { break }
            syncNow()
        }
    }

    /// When this returns, what was downloaded before survives a power loss, unless the log says otherwise.
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
                        "a download cannot be made durable: is the disk in order? After a power loss it comes again",
                        metadata: ["error": "\(error)"])
                }
            }
            try catalog.write { try $0.forgetUndurable(durable) }
        } catch {
            logger.error(
                "downloads cannot be made durable; after a power loss they come again", metadata: ["error": "\(error)"])
        }
    }
}

package import ContentStore
package import FileProvider
package import ItemCatalog
package import Logging
import Synchronization

/// What every part of the engine works with.
package final class SyncContext: Sendable {
    package let provider: any FileProviderExtension
    package let catalog: Catalog
    package let store: ContentStore
    package let times: SyncTimes
    package let defaults: PlaceholderDefaults
    package let logger: Logger
    package let workers: Workers
    let ownChanges = OwnChanges()

    private struct WeakVolume: Sendable { weak var volume: (any VolumeObserving)? }
    private let observer = Mutex(WeakVolume())

    package init(
        provider: any FileProviderExtension, catalog: Catalog, store: ContentStore, times: SyncTimes,
        defaults: PlaceholderDefaults, logger: Logger
    ) {
        self.provider = provider
        self.catalog = catalog
        self.store = store
        self.times = times
        self.defaults = defaults
        self.logger = logger
        self.workers = Workers(threads: 16)
    }

    /// Set once, before the first request.
    package func attach(_ volume: any VolumeObserving) { observer.withLock { $0.volume = volume } }

    var volume: (any VolumeObserving)? { observer.withLock { $0.volume } }

    /// The bytes of a document's current generation.
    package func open(_ record: InodeRecord) throws(ContentError) -> ContentFile {
        try store.open(
            GenerationID(inode: record.id.rawValue, number: record.generation), size: record.size,
            baseSize: record.baseSize, present: record.extents)
    }

    /// Runs a transaction and tells the volume what it made stale.
    @discardableResult
    package func change<T>(_ body: (Catalog.Writer) throws -> T) throws(CatalogError) -> T {
        var changes: [CatalogChange] = []
        let result = try catalog.write { writer in
            let result = try body(writer)
            changes = writer.changes
            return result
        }
        if !changes.isEmpty { volume?.catalogChanged(changes) }
        return result
    }

    /// The path of an item for a log line.
    func path(of item: ItemRecord) -> String {
        guard let inode = item.inode, let names = try? catalog.read({ try $0.path(of: inode) }) else {
            return (item.local ?? item.remote ?? item.base)?.name.string ?? item.id.description
        }
        return names.map(\.string).joined(separator: "/")
    }
}

import ItemCatalog
import SyncEngine
import Synchronization
import Trees
import Volume

/// Withholds from the volume what one transaction made stale, as between its commit and the moment at which the volume
/// is told.
private final class Withheld: CommitObserver {
    private let publisher: CommitPublisher
    /// The transaction to withhold.
    private let own = Mutex<ObjectIdentifier?>(nil)

    init(_ publisher: CommitPublisher) { self.publisher = publisher }

    func withhold(_ transaction: TreeTransaction) { own.withLock { $0 = ObjectIdentifier(transaction) } }
    func begins(_ transaction: TreeTransaction) { publisher.begins(transaction) }
    func failed(_ transaction: TreeTransaction) { publisher.failed(transaction) }
    func committed(_ transaction: TreeTransaction) {
        if own.withLock({ $0 != ObjectIdentifier(transaction) }) { publisher.committed(transaction) }
    }
}

extension TestVolume {
    /// Runs a transaction that the volume is not told of.
    ///
    /// - Returns: what it is to be told.
    func unpublished(_ body: (Catalog.Writer) throws -> Void) throws -> [CatalogChange] {
        let publisher = volume.engine.publisher
        let withheld = Withheld(publisher)
        catalog.observe(withheld)
        defer { catalog.observe(publisher) }
        return try catalog.write { writer in
            withheld.withhold(writer.transaction)
            try body(writer)
            return writer.changes
        }
    }
}

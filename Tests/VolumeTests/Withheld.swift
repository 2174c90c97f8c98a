import ItemCatalog
import SyncEngine
import Synchronization
import Trees
import Volume

/// Withholds from the volume what one transaction made stale, as between its commit and the moment at which the volume
/// is told.
private final class Withheld: CommitObserver {
    private let context: SyncContext
    /// The transaction to withhold.
    private let own = Mutex<ObjectIdentifier?>(nil)

    init(_ context: SyncContext) { self.context = context }

    func withhold(_ transaction: TreeTransaction) { own.withLock { $0 = ObjectIdentifier(transaction) } }
    func begins(_ transaction: TreeTransaction) { context.begins(transaction) }
    func failed(_ transaction: TreeTransaction) { context.failed(transaction) }
    func committed(_ transaction: TreeTransaction) {
        if own.withLock({ $0 != ObjectIdentifier(transaction) }) { context.committed(transaction) }
    }
}

extension TestVolume {
    /// Runs a transaction that the volume is not told of.
    ///
    /// - Returns: what it is to be told.
    func untold(_ body: (Catalog.Writer) throws -> Void) throws -> [CatalogChange] {
        let context = volume.engine.context
        let withheld = Withheld(context)
        catalog.observe(withheld)
        defer { catalog.observe(context) }
        return try catalog.write { writer in
            withheld.withhold(writer.transaction)
            try body(writer)
            return writer.changes
        }
    }
}

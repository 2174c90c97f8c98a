import Locking
package import Trees

/// Changes that are safe without a commit, and that the next transaction makes before its own: programs that close
/// documents do not wait for a commit each (``Catalog/carry(_:)``).
package protocol WaitingChanges: AnyObject, Sendable {
    /// Asked at each read and at each transaction. Must not block.
    var isEmpty: Bool { get }
    /// Makes all of them, at the beginning of a transaction.
    ///
    /// - Returns: called when the transaction is committed, before the next one begins and before anybody else reads.
    func make(in writer: Catalog.Writer) throws -> (@Sendable () -> Void)
    /// ``make(in:)`` has failed, not because the disk is full, and the transaction is rolled back: gives up the change that
    /// it failed on. The transaction is made again.
    func giveUp()
}

extension Catalog {
    /// From now on each transaction makes these changes first, and nobody but ``peek(_:)`` reads the catalog without
    /// them. Set once, before the first of them waits.
    package func carry(_ changes: any WaitingChanges) { carried.withLock { $0.changes = changes } }

    /// Makes the changes that wait. If that fails, they wait on; a caller that must know makes a transaction of its own.
    ///
    /// Does nothing on a thread that is reading or writing the catalog already. The caller may hold any lock that is above
    /// a transaction: the commit is published by another thread.
    package func settle() {
        guard let changes = carried.withLock({ $0.changes }), !changes.isEmpty, !isUsedByThisThread else { return }
        CommitNotices.elsewhere { _ = try? write { _ in } }
    }

    /// Like ``read(_:)``, without the changes that wait: for callers that know those by themselves.
    package func peek<T>(_ body: (Reader) throws -> T) throws(CatalogError) -> T { try readNow(body) }

    /// Like ``readInTurn(_:)``, without the changes that wait. What `body` adds to them is made by the next transaction.
    package func peekInTurn<T>(_ body: (Reader) throws -> T) throws(CatalogError) -> T { try readInTurnNow(body) }
}

extension Catalog.Writer {
    /// An error that was thrown in the transaction, as ``Catalog/write(_:)`` would throw it.
    package func failure(_ error: any Error) -> CatalogError { Catalog.translate(error, path: "the catalog") }
}

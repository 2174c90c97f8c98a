import ContentStore
import ItemCatalog
package import Trees

/// A commit publishes: the volume, kernel, events and queues learn of it here, and nowhere else.
package final class CommitPublisher: CommitObserver {
    private let mount: MountState
    private let reports: EventReports
    private let afterCommit = Callback<(changes: [CatalogChange], concernsStore: Bool)>()

    init(_ mount: MountState, _ reports: EventReports) {
        self.mount = mount
        self.reports = reports
        mount.catalog.observe(self)
    }

    /// Called at each commit that made something stale in the kernel or that concerns the store. Set once; must not
    /// block.
    func onCommit(_ body: @escaping @Sendable (_ changes: [CatalogChange], _ concernsStore: Bool) -> Void) {
        afterCommit.set { body($0.changes, $0.concernsStore) }
    }

    package func begins(_ transaction: TreeTransaction) {
        transaction.linkContents = { [store = mount.store, unowned transaction] from, generation, to in
            let new = GenerationID(inode: to.rawValue, number: 1)
            try store.link(GenerationID(inode: from.rawValue, number: generation), to: new)
            transaction.linked.append(to)
        }
    }

    package func failed(_ transaction: TreeTransaction) {
        // The next inode may get the same number and must not find another inode's bytes.
        for inode in transaction.linked { mount.store.remove(GenerationID(inode: inode.rawValue, number: 1)) }
    }

    package func committed(_ transaction: TreeTransaction) {
        let changes = transaction.changes
        if !changes.isEmpty { mount.volume?.catalogChanged(changes) }
        for case .conflict(let copy) in changes {
            reports.conflict(
                copy, at: mount.path(of: copy),
                "the store has another version; the local version is kept under this name")
        }
        if transaction.concernsStore || !changes.isEmpty { afterCommit((changes, transaction.concernsStore)) }
    }
}

import FileProvider
import ItemCatalog
package import Trees

/// Events about the outcome of calls to the provider, and about refused downloads.
package final class EventReports: Sendable {
    package let log: EventLog
    package let policy = DownloadPolicy()
    private let mount: MountState
    private let refusals = Callback<InodeID>()

    init(_ mount: MountState, _ log: EventLog) {
        self.mount = mount
        self.log = log
    }

    /// Called with each document whose download a program was refused. Set once; must not block.
    package func onRefusal(_ body: @escaping @Sendable (InodeID) -> Void) { refusals.set(body) }

    /// A failure, final or temporary: the line gives the file, the cause and what happens next.
    func failure(
        _ error: SyncError, at path: String, _ identifier: ItemIdentifier?, next: String, process: CausingProcess? = nil
    ) {
        log.add(
            SyncEvent(
                .error, path: path, identifier: identifier, process: process, code: FailureTable.code(of: error),
                message: FailureTable.line(path, error.description, next)))
    }

    /// A program that may not download opened a document that is not here. When a program opens thousands, only the
    /// first refusals of each period are reported.
    package func refusal(_ verdict: DownloadPolicy.Verdict, of inode: InodeID) {
        refusals(inode)
        guard policy.shouldReport(verdict) else { return }
        let item = (try? mount.catalog.read { try $0.item(of: inode) }).flatMap { $0 }
        let program = verdict.program ?? verdict.process?.name ?? "?"
        log.add(
            SyncEvent(
                .refused, path: item.map { mount.path(of: $0) }, identifier: item?.identifier,
                process: verdict.process, code: verdict.decision.rawValue,
                message: "\(program) may not download documents; hydrant policy --allow changes that"))
    }

    /// A document was changed here and in the store.
    func conflict(_ inode: InodeID?, at path: String, _ message: String) {
        let item = inode.flatMap { inode in try? mount.catalog.read { try $0.item(of: inode) } }
        log.add(SyncEvent(.conflict, path: path, identifier: item?.identifier, message: message))
    }
}

import FileProvider
import ItemCatalog
import Logging
import Synchronization
package import Trees

/// Events about the outcome of provider calls.
extension SyncContext {
    /// A failure, final or temporary: the line gives the file, the cause and what happens next.
    func tellFailure(
        _ error: SyncError, at path: String, _ identifier: ItemIdentifier?, next: String, process: CausingProcess? = nil
    ) {
        events.add(
            SyncEvent(
                .error, path: path, identifier: identifier, process: process, code: FailureTable.code(of: error),
                message: FailureTable.line(path, error.description, next)))
    }

    /// A program that may not download opened a document that is not here. When a program opens thousands, only the
    /// first refusals of each period are reported.
    package func tellRefusal(_ verdict: DownloadPolicy.Verdict, of inode: InodeID) {
        refusals(inode)
        guard policy.isTold(verdict) else { return }
        let item = (try? catalog.read { try $0.item(of: inode) }).flatMap { $0 }
        let program = verdict.program ?? verdict.process?.name ?? "?"
        events.add(
            SyncEvent(
                .refused, path: item.map { path(of: $0) }, identifier: item?.identifier,
                process: verdict.process, code: verdict.decision.rawValue,
                message: "\(program) may not download documents; hydrant policy --allow changes that"))
    }

    /// A document was changed here and in the store.
    func tellConflict(_ inode: InodeID?, at path: String, _ message: String) {
        let item = inode.flatMap { inode in try? catalog.read { try $0.item(of: inode) } }
        events.add(SyncEvent(.conflict, path: path, identifier: item?.identifier, message: message))
    }

    /// The path of an item by the provider's identifier, for an event.
    func path(of identifier: ItemIdentifier) -> String? {
        let item = try? catalog.read { try $0.item(identifiedBy: identifier) }
        return item.flatMap { $0 }.map { path(of: $0) }
    }

    // MARK: Remote changes

    /// Events for one change of the catalog; further changes are only counted.
    private static let mostRemoteChanges = 100

    /// Runs a transaction that merges the store's answers, and adds events for the changes that show here.
    @discardableResult
    func takeRemoteChange<T>(
        isFirstLook: Bool = false, _ body: (Catalog.Writer) throws -> T
    ) throws(CatalogError) -> T {
        var changes: [CatalogChange] = []
        var (held, returned) = (0, 0)
        var folders: [ItemIdentifier] = []
        // A closed document must not count as being written, because writing decides how it is merged.
        volume?.endWritingNow()
        let result = try catalog.write { writer in
            let result = try body(writer)
            changes = writer.changes
            (held, returned) = (writer.transaction.held, writer.transaction.returned)
            folders = writer.transaction.returnedFolders
            return result
        }
        if !isFirstLook { tellRemote(changes) }
        tellHeld(held, returned)
        // Items held in these folders may be in the store again too.
        for folder in folders { recheck(.folder(folder)) }
        return result
    }

    private func tellHeld(_ held: Int, _ returned: Int) {
        if held > 0 {
            let what =
                "the store deleted \(held) items, too many to take them away without a question: they stay here until "
                + "hydrant resolve --keep mine|theirs"
            logger.warning("deletions are held", metadata: ["items": "\(held)"])
            events.add(SyncEvent(.deletionsHeld, message: what))
        }
        if returned > 0 {
            logger.info("what was deleted in the store is there again", metadata: ["items": "\(returned)"])
            events.add(
                SyncEvent(.deletionsReleased, message: "the store has \(returned) items again that it had deleted"))
        }
    }

    private func tellRemote(_ changes: [CatalogChange]) {
        var told: Set<String> = []
        var more = 0
        for change in changes {
            // (No look-ups for changes that are only counted.)
            guard told.count < Self.mostRemoteChanges else {
                switch change {
                case .entry, .contents: more += 1
                default: break
                }
                continue
            }
            guard let (path, identifier) = place(of: change), told.insert(path).inserted else { continue }
            events.add(SyncEvent(.remoteChange, path: path, identifier: identifier))
        }
        if more > 0 { events.add(SyncEvent(.remoteChange, message: "and \(more) more")) }
    }

    /// The path where the change shows; nil for a change that follows from others (the date of a folder).
    private func place(of change: CatalogChange) -> (String, ItemIdentifier?)? {
        let found = try? catalog.read { reader -> (String, ItemIdentifier?)? in
            switch change {
            case .entry(let folder, let name, _):
                guard let names = try reader.path(of: folder) else { return nil }
                let inode = try reader.child(of: folder, named: name)
                return (
                    (names + [name]).map(\.string).joined(separator: "/"),
                    try inode.flatMap { try reader.item(of: $0.id)?.identifier }
                )
            case .contents(let inode), .attributes(let inode):
                guard let record = try reader.inodeIfPresent(inode), !record.isFolder,
                    let names = try reader.path(of: inode)
                else { return nil }
                return (names.map(\.string).joined(separator: "/"), try reader.item(of: inode)?.identifier)
            case .removed, .split, .conflict: return nil
            }
        }
        return found ?? nil
    }
}

import FileProvider
import ItemCatalog
import Logging
import Trees

/// What is known of the store's side besides the catalog, and the one way in which the store's answers get into the
/// catalog.
final class RemoteState: Sendable {
    let ownChanges = OwnChanges()
    let opened = OpenedDocuments()
    let refused = RefusedEntries()
    let listingMemory: ListingMemory
    private let mount: MountState
    private let events: EventLog
    private let rechecks = Callback<(ChangeSignal, SyncError?)>()

    init(_ mount: MountState, _ events: EventLog) {
        self.mount = mount
        self.events = events
        listingMemory = ListingMemory(workers: mount.workers, catalog: mount.catalog)
    }

    /// Called with each signal that must be asked for again. Set once; must not block.
    func onRecheck(_ body: @escaping @Sendable (ChangeSignal, SyncError?) -> Void) {
        rechecks.set { body($0.0, $0.1) }
    }

    /// Asks for the signal again: it is not known yet what changed in the store.
    func recheck(_ signal: ChangeSignal, _ error: SyncError? = nil) { rechecks((signal, error)) }

    // MARK: Remote changes

    /// Events for one change of the catalog; further changes are only counted.
    private static let mostRemoteChanges = 100

    /// Runs a transaction that merges the store's answers, and adds events for the changes that show here.
    @discardableResult
    func takeChange<T>(
        isFirstListing: Bool = false, _ body: (Catalog.Writer) throws -> T
    ) throws(CatalogError) -> T {
        var changes: [CatalogChange] = []
        var (held, returned) = (0, 0)
        var folders: [ItemIdentifier] = []
        // A closed document must not count as being written, because writing decides how it is merged.
        mount.volume?.endWritingNow()
        let result = try mount.catalog.write { writer in
            let result = try body(writer)
            changes = writer.changes
            (held, returned) = (writer.transaction.held, writer.transaction.returned)
            folders = writer.transaction.returnedFolders
            return result
        }
        if !isFirstListing { reportChanges(changes) }
        reportHeld(held, returned)
        // Items held in these folders may be in the store again too.
        for folder in folders { recheck(.folder(folder)) }
        return result
    }

    private func reportHeld(_ held: Int, _ returned: Int) {
        if held > 0 {
            let what =
                "the store deleted \(held) items at once: they are kept here until you decide; run "
                + "hydrant resolve --keep mine|theirs"
            mount.logger.warning("deletions are held", metadata: ["items": "\(held)"])
            events.add(SyncEvent(.deletionsHeld, message: what))
        }
        if returned > 0 {
            mount.logger.info("items that the store had deleted are there again", metadata: ["items": "\(returned)"])
            events.add(
                SyncEvent(.deletionsReleased, message: "\(returned) items that the store had deleted are there again"))
        }
    }

    private func reportChanges(_ changes: [CatalogChange]) {
        var reported: Set<String> = []
        var more = 0
        for change in changes {
            // (No look-ups for changes that are only counted.)
            guard reported.count < Self.mostRemoteChanges else {
                switch change {
                case .entry, .contents: more += 1
                default: break
                }
                continue
            }
            guard let (path, identifier) = place(of: change), reported.insert(path).inserted else { continue }
            events.add(SyncEvent(.remoteChange, path: path, identifier: identifier))
        }
        if more > 0 { events.add(SyncEvent(.remoteChange, message: "and \(more) more")) }
    }

    /// The path where the change shows; nil for a change that follows from others (the date of a folder).
    private func place(of change: CatalogChange) -> (String, ItemIdentifier?)? {
        let found = try? mount.catalog.read { reader -> (String, ItemIdentifier?)? in
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

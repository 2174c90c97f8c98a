import FileProvider
import ItemCatalog
import Logging
import Trees

/// A folder's mode and date are sent after its entries: the mode may forbid new entries (0555, as in Go's module
/// cache), and each entry made or removed changes the folder's date.
extension StepRunner {
    /// rwx for the owner.
    static let ownersAll: UInt16 = 0o700

    /// Whether a new folder gets its mode or date later; if so, notes first that they are still to be sent.
    func fillsLater(_ item: ItemRecord, _ inode: InodeRecord) throws -> Bool {
        guard client.updatesMetadata else { return false }
        let isOpen = UInt16(truncatingIfNeeded: inode.mode) & Self.ownersAll == Self.ownersAll
        // A date that no program has set is the last entry's, and the store sets such a date itself.
        guard try !isOpen || item.metadataRevision != 0 && mount.catalog.read({ try $0.hasNewChildren(item.id) })
        else { return false }
        try mount.catalog.write { try $0.metadataIsUnsent(item.id) }
        return true
    }

    /// Gives the owner, who is the store's user, write access to the folders that a step changes, where the store's
    /// mode lacks it. Their own mode is sent afterwards.
    ///
    /// - Parameters:
    ///   - trusting: only where the store's mode, as the catalog knows it, lacks that access. The folder's own step may
    ///     have changed the mode beside this one, so the catalog can be wrong.
    ///   - isMeant: selects the folders.
    /// - Returns: whether a folder is writable now.
    @discardableResult
    func openFolders(
        of planned: Planner.Planned, trusting: Bool = true, where isMeant: (ItemRecord) -> Bool
    ) async throws -> Bool {
        guard client.updatesMetadata else { return false }
        var hasOpened = false
        for id in Set(planned.changedFolders) {
            guard let folder = try mount.catalog.read({ try $0.item(id) }), isMeant(folder),
                let identifier = folder.identifier, let base = folder.baseVersion,
                let mode = folder.remoteFacts.mode, !trusting || mode & 0o300 != 0o300,
                folder.capabilities.contains(.writing)
            else { continue }
            mount.logger.debug(
                "a folder is made writable for a change", metadata: ["folder": "\(mount.path(of: folder))"])
            if folder.local != nil { try mount.catalog.write { try $0.metadataIsUnsent(id) } }
            let open = ItemMetadata(
                contentModificationDate: folder.remoteFacts.modified, posixPermissions: mode | Self.ownersAll)
            let updated = try await client.updateMetadata(
                identifier, to: open, baseVersion: base, at: mount.path(of: folder))
            try check(updated, to: folder)
            try mount.catalog.write {
                try $0.confirmContents(id, as: updated, contentRevision: -1, metadataRevision: -1)
            }
            if (updated.posixPermissions ?? 0) & 0o300 == 0o300 { hasOpened = true }
        }
        return hasOpened
    }

    /// After a refused item was sent late, sends its folder's date again.
    func resendFolder(of planned: Planner.Planned) throws {
        let item = planned.pending.item
        guard Refusal(item.failure) != nil, planned.step != .updateMetadata, let folder = item.local?.parent,
            client.updatesMetadata
        else { return }
        try mount.catalog.write { try $0.metadataIsUnsent(folder) }
    }
}

extension Planner.Planned {
    /// The folders whose entries the step changes. A moved folder is changed itself (its `..`).
    fileprivate var changedFolders: [ItemID] {
        let item = pending.item
        let folders = [item.local, item.base, item.remote].compactMap { $0?.parent }
        switch step {
        case .move, .moveAside: return item.kind.isFolder ? folders + [item.id] : folders
        case .create, .uploadContents, .delete: return folders
        case .updateMetadata, .forget, .findCreation, .takeBackDeletion, .takeBackMove: return []
        }
    }
}

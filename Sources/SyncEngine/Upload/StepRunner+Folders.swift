import FileProvider
import ItemCatalog
import Logging
import Trees

/// A folder's mode and date come after what is in it: the mode may forbid to put anything there (0555, as of the folders in
/// Go's module cache), and each entry that comes or goes gives the folder another date.
extension StepRunner {
    /// rwx for the owner.
    static let ownersAll: UInt16 = 0o700

    /// Whether a folder that is to be made gets its mode or date later; what is to be sent then is noted before.
    func fillsLater(_ item: ItemRecord, _ inode: InodeRecord) throws -> Bool {
        guard context.client.updatesMetadata else { return false }
        let isOpen = UInt16(truncatingIfNeeded: inode.mode) & Self.ownersAll == Self.ownersAll
        // A date that no program has set is that of the last entry, and the store makes one of its own.
        guard try !isOpen || item.metadataRevision != 0 && context.catalog.read({ try $0.hasNewChildren(item.id) })
        else { return false }
        try context.catalog.write { try $0.metadataIsUnsent(item.id) }
        return true
    }

    /// Gives the owner, who is the store's user, the right to change the folders that a step changes, where their mode in the
    /// store has it not. Their own mode is sent when that is done.
    ///
    /// - Parameter isMeant: which of them.
    /// - Returns: whether one of them can be changed now that could not.
    @discardableResult
    func openFolders(of planned: Planner.Planned, where isMeant: (ItemRecord) -> Bool) async throws -> Bool {
        guard context.client.updatesMetadata else { return false }
        var hasOpened = false
        for id in Set(planned.changedFolders) {
            guard let folder = try context.catalog.read({ try $0.item(id) }), isMeant(folder),
                let identifier = folder.identifier, let base = folder.baseVersion,
                let mode = folder.remoteFacts.mode, mode & 0o300 != 0o300, folder.capabilities.contains(.writing)
            else { continue }
            context.logger.debug("a folder is opened for a change", metadata: ["folder": "\(context.path(of: folder))"])
            if folder.local != nil { try context.catalog.write { try $0.metadataIsUnsent(id) } }
            let open = ItemMetadata(
                contentModificationDate: folder.remoteFacts.modified, posixPermissions: mode | Self.ownersAll)
            let updated = try await context.client.updateMetadata(
                identifier, to: open, baseVersion: base, at: context.path(of: folder))
            try check(updated, to: folder)
            try context.catalog.write {
                try $0.confirmContents(id, as: updated, contentRevision: -1, metadataRevision: -1)
            }
            if (updated.posixPermissions ?? 0) & 0o300 == 0o300 { hasOpened = true }
        }
        return hasOpened
    }

    /// What the store did not want at first came after its folder's date.
    func resendFolder(of planned: Planner.Planned) throws {
        let item = planned.pending.item
        guard Refusal(item.failure) != nil, planned.step != .updateMetadata, let folder = item.local?.parent,
            context.client.updatesMetadata
        else { return }
        try context.catalog.write { try $0.metadataIsUnsent(folder) }
    }
}

extension Planner.Planned {
    /// Of which it changes the entries. A folder that is moved is changed itself (its `..`).
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

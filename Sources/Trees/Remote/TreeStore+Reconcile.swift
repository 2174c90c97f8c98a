import FileProvider

/// Applies the provider's changes to the local tree, where no local change stands against them.
extension TreeStore {
    /// Compares the remote tree of these items with base, and updates local and base accordingly.
    ///
    /// An item with a conflicting local change is left as it is: sending that change will meet the mismatch, and both
    /// versions are kept. An item without a free name waits in the same way.
    package func reconcile(_ ids: [ItemID], defaults: PlaceholderDefaults) throws {
        transaction.concernsStore = true
        var new: [ItemRecord] = []
        var moving: [ItemRecord] = []
        for id in ids {
            guard var row = try item(id) else { continue }
            if row.remote == nil {
                try reconcileDeletion(row)
            } else if row.local == nil && row.base == nil {
                new.append(row)
            } else {
                try reconcileContents(&row, defaults)
                try reconcileMetadata(&row)
                if row.isMovedRemotelyOnly {
                    moving.append(row)
                } else if row.remote == row.local {
                    row.base = row.remote
                    if !row.isModified { row.failure = nil }
                }
                try update(row)
            }
        }
        try move(moving)
        for row in new { try attachNew(row, defaults) }
        try showWaiting(defaults)
    }

    /// A name has become free in the local tree: an item of the provider may have waited for it, most often a document
    /// that replaced another one.
    func showWaiting(_ defaults: PlaceholderDefaults) throws {
        repeat {
            while let place = freedPlaces.popLast() {
                guard let row = try remoteOccupant(of: place, otherThan: .root) else { continue }
                if row.local == nil && row.base == nil { try attachNew(row, defaults) }
                if row.isMovedRemotelyOnly { try move([row]) }
            }
        } while try showLongWaiting(defaults)
    }

    /// Shows items of the provider that have waited for a name longer. When a program moved or removed the file with
    /// the name, the item is not shown before it is known that this was no save. Returns whether an item was shown.
    private func showLongWaiting(_ defaults: PlaceholderDefaults) throws -> Bool {
        var isShown = false
        for id in try waiting.some(itemsNotInPlace) {
            guard let row = try item(id), row.isNew || row.isMovedRemotelyOnly, let place = row.remote else {
                waiting.remove(id)
                continue
            }
            guard let folder = try folderInode(of: place.parent) else { continue }
            if let occupant = try child(of: folder, named: place.name) {
                if row.isNew, try nest(occupant, in: row, defaults) {
                    // The item is where the store has it.
                } else if row.isNew, try yieldSecondName(row, occupant) {
                    // Shown in the next round: the place is free.
                    isShown = true
                    continue
                } else {
                    continue
                }
            } else if row.isNew {
                try attachNew(row, defaults)
            } else {
                try move([row])
            }
            guard try item(id)?.local == place else { continue }
            waiting.remove(id)
            isShown = true
        }
        return isShown
    }

    // MARK: Moves

    /// Moves items to where the provider has them. First frees all names that move, so that two items can swap names;
    /// an item whose new place is not free stays until it is.
    private func move(_ rows: [ItemRecord]) throws {
        var possible = rows
        while true {
            let vacating = Set(possible.compactMap(\.inode))
            let kept = try possible.filter { try canMove($0, vacating: vacating) }
            if kept.count == possible.count { break }
            possible = kept
        }
        let ids = Set(possible.map(\.id))
        for row in rows where !ids.contains(row.id) { waiting.add(row.id) }
        for row in possible { try detach(row) }
        for row in possible { try attachMoved(row) }
    }

    private func canMove(_ row: ItemRecord, vacating: Set<InodeID>) throws -> Bool {
        guard let place = row.remote, let inode = row.inode, let folder = try folderInode(of: place.parent),
            let parent = try inodeIfPresent(folder), parent.linkCount > 0, try !isInside(folder, inode)
        else { return false }
        guard let occupant = try child(of: folder, named: place.name), !vacating.contains(occupant.id) else {
            return true
        }
        // A known item is about to leave the name; an item that the provider does not know there stays beside this one.
        guard let other = try item(of: occupant.id), try isPrimary(other, place.name, in: folder) else { return true }
        return other.identifier == nil || other.local != other.base || other.heldSince != nil
    }

    private func folderInode(of item: ItemID) throws -> InodeID? { try self.item(item)?.inode }

    func attachNew(_ row: ItemRecord, _ defaults: PlaceholderDefaults) throws {
        guard let place = row.remote, let folder = try folderInode(of: place.parent) else { return }
        if let occupant = try child(of: folder, named: place.name) {
            if try nest(occupant, in: row, defaults) { return }
            waiting.add(row.id)
            try meet(row, occupant, defaults)
            return
        }
        if let lost = try lostCreation(like: row) {
            waiting.add(row.id)
            return try becomesReady(lost)
        }
        let isFolder = row.kind.isFolder
        let inode = try insert(InodeRecord(placeholderOf: row, defaults))
        if let attributes = row.remoteFacts.extendedAttributes {
            _ = try replaceUserAttributes(of: inode.id, by: attributes)
        }
        try link(inode.id, in: folder, as: place.name)
        try noteArrival(in: folder, links: isFolder ? 1 : 0)
        var row = row
        row.inode = inode.id
        row.local = place
        row.base = place
        row.baseVersion = row.remoteVersion
        try update(row)
        changes.append(.entry(folder: folder, name: place.name, isNew: true))
        changes.append(.attributes(folder))
    }

    /// Both sides made an item of the same name. Two folders become one; two documents wait for the local one's upload,
    /// which compares them.
    private func meet(_ row: ItemRecord, _ occupant: InodeRecord, _ defaults: PlaceholderDefaults) throws {
        if try yieldSecondName(row, occupant) { return }
        if let held = try item(of: occupant.id), held.heldSince != nil { return try succeed(row, held, defaults) }
        guard let other = try item(of: occupant.id), other.identifier == nil, !other.isExcluded else { return }
        if row.kind.isFolder && other.kind.isFolder {
            try adopt(row, as: other)
        } else {
            var other = other
            other.becomesReadyUnlessWritten(at: now)
            try update(other)
        }
    }

    /// A further hard link, or a file that no store can hold, has the name: it gets another name.
    private func yieldSecondName(_ row: ItemRecord, _ occupant: InodeRecord) throws -> Bool {
        guard let place = row.remote, let folder = try folderInode(of: place.parent) else { return false }
        if let other = try item(of: occupant.id), try isPrimary(other, place.name, in: folder) { return false }
        let free = try unusedName(like: place.name, in: folder)
        try moveName(place.name, in: folder, to: free, in: folder)
        changes.append(.entry(folder: folder, name: place.name))
        changes.append(.entry(folder: folder, name: free))
        freedPlaces.append(place)
        return true
    }

    /// The provider's item `row` and the local item `local` are the same: makes them one item.
    package func adopt(_ row: ItemRecord, as local: ItemRecord) throws {
        try deleteItem(row.id)
        var local = local
        let before = local.remoteFacts.capabilities
        local.identifier = row.identifier
        local.remote = row.remote
        local.remoteVersion = row.remoteVersion
        local.remoteFacts = row.remoteFacts
        local.base = row.remote
        local.baseVersion = row.remoteVersion
        local.failure = nil
        // While the item is being created from here, a listing may show it incomplete.
        if local.metadataRevision == 0, local.attempted == nil {
            local.baseVersion?.metadata = MetadataVersion("")
            try reconcileMetadata(&local)
        }
        try update(local)
        try capabilitiesChanged(of: local, from: before)
        if local.kind.isFolder, let inode = local.inode, var folder = try inodeIfPresent(inode) {
            // The folder's other items at the provider are not known yet.
            folder.isEnumerated = false
            reopened.add(inode)
            try update(folder)
            changes.append(.attributes(inode))
        }
        try moveRemoteChildren(of: row.id, to: local.id)
    }

    func detach(_ row: ItemRecord) throws {
        guard let local = row.local, let folder = try folderInode(of: local.parent) else { return }
        if let inode = row.inode { transaction.movingNumbers[inode] = try number(of: local.name, in: folder) }
        try unlinkName(local.name, in: folder)
        freedPlaces.append(local)
        try touch(folder: folder, links: row.kind.isFolder ? -1 : 0)
        changes.append(.entry(folder: folder, name: local.name))
        changes.append(.attributes(folder))
    }

    func attachMoved(_ row: ItemRecord) throws {
        guard var row = try item(row.id), let place = row.remote, let inode = row.inode else { return }
        guard let folder = try folderInode(of: place.parent), let parent = try inodeIfPresent(folder) else { return }
        var free = place.name
        if let occupant = try child(of: folder, named: free), try !yieldSecondName(row, occupant) {
            if let other = try item(of: occupant.id), other.heldSince != nil {
                try stepAside(other)
            } else if let other = try item(of: occupant.id), other.identifier == nil || other.local != other.base {
                // The provider's item keeps its name; ours, which the provider does not know (there), becomes the copy.
                try yieldName(other.id)
                try recordConflict(original: row.id, copy: occupant.id, .nameTaken)
            } else {
                free = try unusedName(like: place.name, in: folder)
                try recordConflict(original: try item(of: occupant.id)?.id, copy: inode, .nameTaken)
            }
        }
        try link(inode, in: folder, as: free, number: transaction.movingNumbers.removeValue(forKey: inode))
        try touch(folder: parent.id, links: row.kind.isFolder ? 1 : 0)
        row.base = place
        row.local = TreePlace(parent: place.parent, name: free)
        try update(row)
        changes.append(.entry(folder: folder, name: free))
        changes.append(.attributes(inode))
        changes.append(.attributes(folder))
    }

    private func reconcileContents(_ row: inout ItemRecord, _ defaults: PlaceholderDefaults) throws {
        guard let remote = row.remoteVersion, let base = row.baseVersion, remote.content != base.content else { return }
        if case .symbolicLink(let target) = row.kind { return try retarget(&row, target, remote.content) }
        guard row.kind.isDocument, let id = row.inode, var inode = try inodeIfPresent(id) else { return }
        if inode.writing != nil {
            // The new version may be our own upload, whose reply was lost: the next upload finds out.
            guard row.sent.isEmpty, try split(&row, &inode) != nil else { return }
            // Its mode and date would have been sent with the bytes.
            if row.metadataRevision == 0 { row.baseVersion?.metadata = MetadataVersion("") }
        } else if row.contentRevision != 0 {
            return
        }
        inode.generation += 1
        inode.size = row.remoteFacts.size
        inode.baseSize = row.remoteFacts.size
        inode.extents = inode.size == 0 ? nil : RangeSet()
        inode.modified = row.remoteFacts.modified
        // setuid and setgid were granted to other bytes.
        inode.mode &= ~0o6000
        try dropCapabilities(of: id)
        inode.changed = now
        try update(inode)
        row.baseVersion?.content = remote.content
        row.sent = []
        changes.append(.contents(id))
        for place in try places(of: id) { changes.append(.entry(folder: place.folder, name: place.name)) }
    }

    private func retarget(_ row: inout ItemRecord, _ target: [UInt8], _ version: ContentVersion) throws {
        row.baseVersion?.content = version
        guard let id = row.inode, var inode = try inodeIfPresent(id) else { return }
        inode.target = target
        inode.size = Int64(target.count)
        inode.changed = now
        try update(inode)
        changes.append(.contents(id))
    }

    private func reconcileMetadata(_ row: inout ItemRecord) throws {
        guard let remote = row.remoteVersion, let base = row.baseVersion else { return }
        if row.metadataRevision == 0, row.contentRevision == 0, let attributes = row.remoteFacts.extendedAttributes,
            let id = row.inode, try replaceUserAttributes(of: id, by: attributes)
        {
            changes.append(.attributes(id))
        }
        guard remote.metadata != base.metadata else { return }
        // Dates and modes do not conflict: a local change of them is sent later and wins.
        row.baseVersion?.metadata = remote.metadata
        guard row.metadataRevision == 0, row.contentRevision == 0, let id = row.inode,
            var inode = try inodeIfPresent(id), inode.writing == nil
        else { return }
        let before = inode
        inode.takeMode(row.remoteFacts.mode)
        if row.kind.isDocument { inode.modified = row.remoteFacts.modified }
        guard inode != before else { return }
        inode.changed = now
        try update(inode)
        changes.append(.attributes(id))
    }

    private func reconcileDeletion(_ row: ItemRecord) throws {
        guard let inodeID = row.inode, var inode = try inodeIfPresent(inodeID) else {
            // Deleted here too, or never shown.
            try deleteItem(row.id)
            return
        }
        if row.heldSince != nil { return }
        let hasNames = try hasChildren(inodeID)
        if try hasNames && holdsSomething(row.id) {
            var row = row
            row.heldSince = now
            return try update(row)
        }
        // A placeholder that was only moved has no bytes to create it from, and a folder only its content.
        let isWork = try row.isModified && !row.kind.isFolder && (row.contentRevision != 0 || isWhole(inodeID))
        let survives = isWork || inode.writing != nil || hasNames
        if survives {
            // The item contains local work: it is created again at the provider.
            var row = row
            row.becomesUnconfirmed(at: now)
            try update(row)
            return
        }
        // Further names exist on this machine only: the inode keeps them if it does not need the store.
        let keepsOthers = try inode.linkCount > 1 && !row.kind.isFolder && isWhole(inodeID)
        for place in try keepsOthers ? [self.place(of: inodeID)].compactMap({ $0 }) : places(of: inodeID) {
            try unlinkName(place.name, in: place.folder)
            try touch(folder: place.folder, links: row.kind.isFolder ? -1 : 0)
            changes.append(.entry(folder: place.folder, name: place.name))
            changes.append(.attributes(place.folder))
        }
        if let place = row.local { freedPlaces.append(place) }
        if keepsOthers {
            inode.linkCount -= 1
            try update(inode)
            var row = row
            row.becomesUnconfirmed(at: now)
            try update(row)
            changes.append(.attributes(inodeID))
            return try promote(row, settle: 0)
        }
        inode.linkCount = 0
        try update(inode)
        try passPin(of: row)
        try deleteItem(row.id)
        changes.append(.removed(inodeID))
    }
}

extension InodeRecord {
    /// A placeholder for an item of the provider, without bytes.
    init(placeholderOf row: ItemRecord, _ defaults: PlaceholderDefaults) {
        let facts = row.remoteFacts
        var target: [UInt8]?
        if case .symbolicLink(let bytes) = row.kind { target = bytes }
        let size = target.map { Int64($0.count) } ?? facts.size
        self.init(
            id: .root, kind: InodeKind(row.kind),
            mode: facts.mode.map { UInt32($0) } ?? defaults.mode(of: row.kind), uid: defaults.uid, gid: defaults.gid,
            linkCount: row.kind.isFolder ? 2 : 1, size: size, accessed: facts.modified, modified: facts.modified,
            changed: facts.modified, born: facts.born ?? facts.modified, target: target, generation: 1,
            baseSize: row.kind.isDocument ? size : 0,
            extents: row.kind.isDocument && size > 0 ? RangeSet() : nil, writing: nil, isEnumerated: false)
    }
}

extension InodeRecord {
    /// Takes the store's mode. A folder's setuid and setgid bits stay as they are on this machine; setgid determines
    /// the group of new files.
    mutating func takeMode(_ remote: UInt16?) {
        guard let remote else { return }
        mode = UInt32(remote) | (isFolder ? mode & 0o6000 : 0)
    }
}

extension ItemRecord {
    /// The provider has the item, and it has not been shown here yet.
    var isNew: Bool { local == nil && base == nil && inode == nil && remote != nil }
}

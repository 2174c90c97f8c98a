import FileProvider
import GRDB

/// Bringing the provider's changes to the local tree, where no local change stands against them.
extension Catalog.Writer {
    /// Compares the remote tree of these items with base and moves local and base along.
    ///
    /// What a local change stands against is left as it is: sending that change will meet the
    /// mismatch, and both are kept. What has no free name waits in the same way.
    package func reconcile(_ ids: [ItemID], defaults: PlaceholderDefaults) throws {
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

    /// A name has become free in the local tree: an item of the provider's may have waited for it (a
    /// document that was replaced by another one, above all).
    func showWaiting(_ defaults: PlaceholderDefaults) throws {
        while let place = freedPlaces.popLast() {
            guard let row = try remoteOccupant(of: place, otherThan: .root) else { continue }
            if row.local == nil && row.base == nil { try attachNew(row, defaults) }
            if row.isMovedRemotelyOnly { try move([row]) }
        }
    }

    // MARK: Moves

    /// Moves items to where the provider has them. All names that move are let go of first, so that two
    /// items may swap theirs; one whose place is not free stays until it is.
    private func move(_ rows: [ItemRecord]) throws {
        var possible = rows
        while true {
            let vacating = Set(possible.compactMap(\.inode))
            let kept = try possible.filter { try canMove($0, vacating: vacating) }
            if kept.count == possible.count { break }
            possible = kept
        }
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
        // A known item is on its way out of the name; what the provider does not know there stays beside.
        guard let other = try item(of: occupant.id) else { return false }
        return other.identifier == nil || other.local != other.base
    }

    /// Whether `inner` is `outer` or below it, in the local tree.
    private func isInside(_ inner: InodeID, _ outer: InodeID) throws -> Bool {
        var current = inner
        while current != .root {
            if current == outer { return true }
            guard let place = try place(of: current) else { return false }
            current = place.folder
        }
        return false
    }

    private func folderInode(of item: ItemID) throws -> InodeID? { try self.item(item)?.inode }

    private func attachNew(_ row: ItemRecord, _ defaults: PlaceholderDefaults) throws {
        guard let place = row.remote, let folder = try folderInode(of: place.parent) else { return }
        if let occupant = try child(of: folder, named: place.name) {
            try meet(row, occupant)
            return
        }
        let facts = row.remoteFacts
        var target: [UInt8]?
        if case .symbolicLink(let bytes) = row.kind { target = bytes }
        let isFolder = row.kind.isFolder
        let size = target.map { Int64($0.count) } ?? facts.size
        let inode = try insert(
            InodeRecord(
                id: .root, kind: InodeKind(row.kind),
                mode: facts.mode.map { UInt32($0) } ?? (isFolder ? defaults.folderMode : defaults.documentMode),
                uid: defaults.uid, gid: defaults.gid, linkCount: isFolder ? 2 : 1, size: size,
                accessed: facts.modified, modified: facts.modified, changed: facts.modified,
                born: facts.born ?? facts.modified, target: target, generation: 1,
                baseSize: row.kind.isDocument ? size : 0,
                extents: row.kind.isDocument && size > 0 ? RangeSet() : nil, writing: nil, isEnumerated: false))
        try link(inode.id, in: folder, as: place.name)
        try noteArrival(in: folder, links: isFolder ? 1 : 0)
        var row = row
        row.inode = inode.id
        row.local = place
        row.base = place
        row.baseVersion = row.remoteVersion
        try update(row)
        changes.append(.entry(folder: folder, name: place.name))
        changes.append(.attributes(folder))
    }

    /// Both sides made something of one name. Two folders are one; two documents wait for the local
    /// one's upload, which compares them.
    private func meet(_ row: ItemRecord, _ occupant: InodeRecord) throws {
        guard let other = try item(of: occupant.id), other.identifier == nil, !other.isExcluded else { return }
        if row.kind.isFolder && other.kind.isFolder {
            try adopt(row, as: other)
        } else {
            var other = other
            other.becomesReady(at: now)
            try update(other)
        }
    }

    /// What `row` is at the provider is what `local` is here: one item.
    package func adopt(_ row: ItemRecord, as local: ItemRecord) throws {
        try deleteItem(row.id)
        var local = local
        local.identifier = row.identifier
        local.remote = row.remote
        local.remoteVersion = row.remoteVersion
        local.remoteFacts = row.remoteFacts
        local.base = row.remote
        local.baseVersion = row.remoteVersion
        local.failure = nil
        try update(local)
        if local.kind.isFolder, let inode = local.inode, var folder = try inodeIfPresent(inode) {
            // What else is in it at the provider is not known yet.
            folder.isEnumerated = false
            try update(folder)
            changes.append(.attributes(inode))
        }
        try db.cachedStatement(sql: "UPDATE item SET remote_parent = ? WHERE remote_parent = ?")
            .execute(arguments: [local.id.rawValue, row.id.rawValue])
    }

    private func detach(_ row: ItemRecord) throws {
        guard let local = row.local, let folder = try folderInode(of: local.parent) else { return }
        try unlinkName(local.name, in: folder)
        freedPlaces.append(local)
        try touch(folder: folder, links: row.kind.isFolder ? -1 : 0)
        changes.append(.entry(folder: folder, name: local.name))
        changes.append(.attributes(folder))
    }

    private func attachMoved(_ row: ItemRecord) throws {
        guard var row = try item(row.id), let place = row.remote, let inode = row.inode else { return }
        guard let folder = try folderInode(of: place.parent), let parent = try inodeIfPresent(folder) else { return }
        var free = place.name
        if let occupant = try child(of: folder, named: free) {
            if let other = try item(of: occupant.id), other.identifier == nil {
                // What the provider has keeps its name; ours, which it does not know, becomes the copy.
                try yieldName(other.id)
            } else {
                free = try unusedName(like: place.name, in: folder)
            }
        }
        try link(inode, in: folder, as: free)
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
        guard row.contentRevision == 0, inode.writing == nil else { return }
        inode.generation += 1
        inode.size = row.remoteFacts.size
        inode.baseSize = row.remoteFacts.size
        inode.extents = inode.size == 0 ? nil : RangeSet()
        inode.modified = row.remoteFacts.modified
        inode.changed = now
        try update(inode)
        row.baseVersion?.content = remote.content
        row.sent = nil
        changes.append(.contents(id))
        if let place = try place(of: id) { changes.append(.entry(folder: place.folder, name: place.name)) }
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
        guard let remote = row.remoteVersion, let base = row.baseVersion, remote.metadata != base.metadata else {
            return
        }
        // Dates and modes are no conflict: a local change of them, sent later, stands.
        row.baseVersion?.metadata = remote.metadata
        guard row.metadataRevision == 0, row.contentRevision == 0, let id = row.inode,
            var inode = try inodeIfPresent(id), inode.writing == nil
        else { return }
        if let mode = row.remoteFacts.mode { inode.mode = UInt32(mode) }
        if row.kind.isDocument { inode.modified = row.remoteFacts.modified }
        inode.changed = now
        try update(inode)
        changes.append(.attributes(id))
    }

    private func reconcileDeletion(_ row: ItemRecord) throws {
        guard let inodeID = row.inode, var inode = try inodeIfPresent(inodeID) else {
            // Gone here too, or never shown.
            try deleteItem(row.id)
            return
        }
        let hasNames = try hasChildren(inodeID)
        let survives = row.isModified || inode.writing != nil || hasNames
        if survives {
            // Somebody's work is in it: it is made anew at the provider.
            var row = row
            row.becomesUnconfirmed(at: now)
            try update(row)
            return
        }
        while let place = try place(of: inodeID) {
            try unlinkName(place.name, in: place.folder)
            try touch(folder: place.folder, links: row.kind.isFolder ? -1 : 0)
            changes.append(.entry(folder: place.folder, name: place.name))
            changes.append(.attributes(place.folder))
        }
        if let place = row.local { freedPlaces.append(place) }
        inode.linkCount = 0
        try update(inode)
        try deleteItem(row.id)
        changes.append(.removed(inodeID))
    }
}

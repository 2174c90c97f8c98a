package import FileProvider
import Foundation
package import Surroundings

/// Keeps both versions: names for conflicted copies, and the step that makes a copy.
extension TreeStore {
    /// A free name in `folder`: `name (conflicted copy, HOST, DATE).ext`.
    func unusedName(like name: Filename, in folder: InodeID) throws -> Filename {
        var number = 1
        while true {
            let candidate = ConflictName.make(from: name, at: now, number: number)
            if try child(of: folder, named: candidate) == nil { return candidate }
            number += 1
        }
    }

    /// Resolves a conflict between the local change of a document and the provider's change: the provider's version
    /// keeps the name, as a placeholder; the local bytes become a new document beside it.
    ///
    /// Programs that have the document open go on with the local bytes.
    /// - Parameter current: the provider's version now; nil: the last known one.
    /// - Returns: the conflicted copy's name; nil when the local change is gone.
    package func keepBoth(
        _ id: ItemID, current: Item?, _ reason: ConflictReason = .bothChanged, defaults: PlaceholderDefaults
    ) throws -> Filename? {
        guard var row = try item(id), let inode = row.inode, let local = row.local,
            let folder = try item(local.parent)?.inode, row.identifier == nil || row.contentRevision != 0
        else { return nil }
        // The item was known before, and has moved to the name since.
        let isMoved = try current.flatMap { try item(identifiedBy: $0.identifier)?.base } != nil
        // The copy goes beside the other side's version, which may have a new name there.
        let name = row.local == row.base ? current?.filename ?? row.remote?.name : nil
        let copyName = try unusedName(like: name ?? local.name, in: folder)
        try moveName(local.name, in: folder, to: copyName, in: folder)
        try touch(folder: folder)
        changes.append(.entry(folder: folder, name: local.name))
        changes.append(.entry(folder: folder, name: copyName))
        changes.append(.attributes(folder))

        let place = TreePlace(parent: local.parent, name: copyName)
        if row.identifier == nil {
            // The item was to be created, and its name was taken: create it under the copy's name, and show the item
            // that took the name.
            row.local = place
            row.attempted = nil
            row.becomesReadyUnlessWritten(at: now)
            try update(row)
        } else {
            // A program that is writing goes on with the copy.
            let readyAt = row.readyAt == .farFuture ? row.readyAt : now
            row.readyAt = now
            row.inode = nil
            row.local = nil
            row.base = nil
            row.contentRevision = 0
            row.metadataRevision = 0
            row.failure = nil
            row.sent = []
            // The store may have an item of another kind there by now.
            let kind = row.kind
            if let current, let parent = try item(identifiedBy: current.parentIdentifier) {
                row.setRemote(current, in: parent.id)
            }
            try update(row)
            let copy = try insert(
                ItemRecord.unconfirmed(inode: inode, kind: kind, at: place, readyAt: readyAt, isExcluded: false))
            try moveDelayedDeletions(from: id, to: copy.id)
        }
        if let current {
            try showUnapplied(current, defaults: defaults)
        } else {
            try reconcile([id], defaults: defaults)
        }
        if row.identifier == nil {
            let other = try current.flatMap { try item(identifiedBy: $0.identifier)?.id }
            try recordConflict(original: other, copy: inode, isMoved ? .nameTaken : .bothMade)
        } else {
            try recordConflict(original: id, copy: inode, reason)
        }
        return copyName
    }

    /// A moved item finds its new name taken at the provider: it gets another name, and the item with the name is
    /// shown.
    package func giveWay(_ id: ItemID, to current: Item?, defaults: PlaceholderDefaults) throws {
        let place = try item(id)?.local
        try yieldName(id)
        if let current {
            try showUnapplied(current, defaults: defaults)
        } else if let place {
            freedPlaces.append(place)
            try showWaiting(defaults)
        }
        let winner =
            try current.flatMap { try item(identifiedBy: $0.identifier) }
            ?? place.flatMap { try remoteOccupant(of: $0, otherThan: id) }
        try recordConflict(original: winner?.id, copy: try item(id)?.inode, .nameTaken)
    }

    /// A folder was moved here into a folder that the store has moved into it: moves it back to its place in the store.
    package func takeBackMove(_ id: ItemID, defaults: PlaceholderDefaults) throws {
        guard var row = try item(id), let inode = row.inode, let from = row.local, let to = row.remote, from != to,
            let old = try item(from.parent)?.inode, let new = try item(to.parent)?.inode, try !isInside(new, inode)
        else { return }
        let name = try child(of: new, named: to.name) == nil ? to.name : unusedName(like: to.name, in: new)
        try moveName(from.name, in: old, to: name, in: new)
        try touch(folder: old, links: row.kind.isFolder ? -1 : 0)
        try touch(folder: new, links: row.kind.isFolder ? 1 : 0)
        row.local = TreePlace(parent: to.parent, name: name)
        row.base = to
        row.becomesReady(at: now)
        try update(row)
        freedPlaces.append(from)
        changes += [
            .entry(folder: old, name: from.name), .entry(folder: new, name: name), .attributes(old), .attributes(new),
        ]
        // Items that could not be moved into the folder before.
        try reconcile(try remoteChildren(of: id).map(\.id), defaults: defaults)
    }

    /// Gives an item a name for conflicted copies.
    func yieldName(_ id: ItemID) throws {
        guard var row = try item(id), row.inode != nil, let local = row.local,
            let folder = try item(local.parent)?.inode
        else { return }
        let name = try unusedName(like: local.name, in: folder)
        try moveName(local.name, in: folder, to: name, in: folder)
        changes.append(.entry(folder: folder, name: local.name))
        changes.append(.entry(folder: folder, name: name))
        row.local = TreePlace(parent: local.parent, name: name)
        row.becomesReadyUnlessWritten(at: now)
        try update(row)
    }

    /// Shows an item of the provider that had no free name until now.
    private func showUnapplied(_ current: Item, defaults: PlaceholderDefaults) throws {
        if let row = try item(identifiedBy: current.identifier) {
            if row.local == nil && row.base == nil { try reconcile([row.id], defaults: defaults) }
            return
        }
        guard let parent = try item(identifiedBy: current.parentIdentifier) else { return }
        var row = ItemRecord(
            id: .root, inode: nil, identifier: current.identifier, kind: current.kind, base: nil,
            baseVersion: nil, local: nil, contentRevision: 0, metadataRevision: 0, remote: nil,
            remoteVersion: nil, remoteFacts: RemoteFacts(current), readyAt: now, failure: nil, sent: [],
            isPinned: false, isExcluded: false)
        row.setRemote(current, in: parent.id)
        try reconcile([try insert(row).id], defaults: defaults)
    }
}

extension ConflictName {
    /// The name of a conflicted copy.
    package static func make(from name: Filename, at moment: FileTime, number: Int) -> Filename {
        Filename(bytes: make(from: name.bytes, at: Int(moment.seconds), number: number))
    }
}

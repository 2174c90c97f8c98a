package import FileProvider

/// A change that brings the provider's tree closer to the local tree.
package enum Step: Equatable, Sendable {
    case create
    case uploadContents
    case move(to: TreePlace)
    /// Moves an item to a free name, out of the way of another move: needed when two items swap names.
    case moveAside
    case updateMetadata
    case delete
    /// The store was asked to create the item, and its reply was lost: looks whether the item is there.
    case findCreation
    /// Neither side has the item: its row can be deleted.
    case forget
    /// The provider has a new item in a folder that was deleted here: the folder is shown again.
    case takeBackDeletion
    /// Two folders were moved into each other, one here and one in the store: the store's move wins.
    case takeBackMove
}

/// Turns the difference between the trees into steps. A pure function: no clock, no catalog.
package enum Planner {
    package struct Planned: Equatable, Sendable {
        package var pending: PendingItem
        package var step: Step

        /// Whether this step must wait for `other`, whose reply has not come. The effect of `other` is not in the trees
        /// yet: this step's place may be taken, or a folder it moves may be inside another by now.
        package func waits(for other: Planned) -> Bool {
            if pending.item.id == other.pending.item.id { return true }
            if other.changesFolder, isIn(other.pending.item.id) { return true }
            return (takesPlace && other.takesPlace && pending.item.local == other.pending.item.local)
                || (movesFolder && other.movesFolder)
        }
        private var moves: Bool { if case .move = step { true } else { false } }
        private var takesPlace: Bool { moves || step == .create }
        /// The step may remove the right to change the folder's content, and it sets the folder's date.
        private var changesFolder: Bool { step == .updateMetadata && pending.item.kind.isFolder }
        private func isIn(_ folder: ItemID) -> Bool {
            let item = pending.item
            return [item.local, item.base, item.remote].contains { $0?.parent == folder }
        }
        package var movesFolder: Bool { (moves || step == .moveAside) && pending.item.kind.isFolder }
    }

    /// The steps that may be taken now, in any order, or concurrently except for ``Planned/waits(for:)``. A step that
    /// waits for another one is left out, and comes when the other is confirmed.
    package static func plan(_ pending: [PendingItem]) -> [Planned] {
        pending.compactMap { one in step(for: one).map { Planned(pending: one, step: $0) } }
    }

    /// Call when no step is possible and none is in progress: items wait for one another's names. Moves aside an item
    /// whose name another item needs, or takes back the move of a folder into one that the store has put inside it.
    package static func breakDeadlock(among waiting: [PendingItem], at moment: FileTime) -> Planned? {
        for one in waiting {
            guard let occupant = one.occupant, isLeaving(occupant), occupant.identifier != nil,
                occupant.readyAt <= moment,
                (occupant.failure?.retryAt ?? moment) <= moment
            else { continue }
            let pending = PendingItem(item: occupant, parentIdentifier: nil, occupant: nil, remoteChildren: .none)
            return Planned(pending: pending, step: .moveAside)
        }
        return waiting.first { $0.staysInItself }.map { Planned(pending: $0, step: .takeBackMove) }
    }

    /// The step for one item, or nil when the item waits for another item's step.
    private static func step(for pending: PendingItem) -> Step? {
        let item = pending.item
        if item.isLost { return .findCreation }
        guard let local = item.local else {
            if item.identifier == nil || item.remote == nil { return .forget }
            switch pending.remoteChildren {
            case .none: return .delete
            case .leaving: return nil
            case .new: return .takeBackDeletion
            }
        }
        if item.identifier == nil { return isWaitingForName(pending) ? nil : .create }
        if item.local != item.base {
            return isWaitingForName(pending) || pending.goesIntoItself ? nil : .move(to: local)
        }
        if item.contentRevision != 0 && item.kind.isDocument { return .uploadContents }
        if item.metadataRevision != 0 { return pending.hasUnsentChildren ? nil : .updateMetadata }
        return nil
    }

    /// Whether the item with this name at the provider is about to leave it: that step comes first. Not when the
    /// provider has just moved that item to the name, and it could not be moved here.
    private static func isWaitingForName(_ pending: PendingItem) -> Bool {
        pending.placeMayBeTaken || pending.occupant.map(isLeaving) == true
    }

    private static func isLeaving(_ occupant: ItemRecord) -> Bool {
        occupant.base != nil && occupant.local != occupant.base && occupant.local != occupant.remote
    }
}

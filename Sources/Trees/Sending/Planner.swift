package import FileProvider

/// What brings the provider's tree a step nearer to the local one.
package enum Step: Equatable, Sendable {
    case create
    case uploadContents
    case move(to: TreePlace)
    /// Out of the way of another move, to a name that nobody has: two items swap theirs.
    case moveAside
    case updateMetadata
    case delete
    /// The store was asked to make it somewhere, and its reply got lost: is it there?
    case findCreation
    /// Neither side has it: the row can go.
    case forget
    /// The provider has something new in a folder that was deleted here: it is shown again.
    case takeBackDeletion
    /// Two folders were moved into each other, one here and one in the store: the store's move stands.
    case takeBackMove
}

/// Turns the difference between the trees into steps. A pure function: no clock, no catalog.
package enum Planner {
    package struct Planned: Equatable, Sendable {
        package var pending: PendingItem
        package var step: Step

        /// Beside a step whose reply has not come: what that one will have done is not in the trees yet. The place
        /// that it goes to may be taken, and a folder that it moves be inside another by now.
        package func waits(for other: Planned) -> Bool {
            if pending.item.id == other.pending.item.id { return true }
            if other.changesFolder, isIn(other.pending.item.id) { return true }
            return (takesPlace && other.takesPlace && pending.item.local == other.pending.item.local)
                || (movesFolder && other.movesFolder)
        }
        private var moves: Bool { if case .move = step { true } else { false } }
        private var takesPlace: Bool { moves || step == .create }
        /// It may take the right away to change what is in the folder, and gives it its date.
        private var changesFolder: Bool { step == .updateMetadata && pending.item.kind.isFolder }
        private func isIn(_ folder: ItemID) -> Bool {
            let item = pending.item
            return [item.local, item.base, item.remote].contains { $0?.parent == folder }
        }
        package var movesFolder: Bool { (moves || step == .moveAside) && pending.item.kind.isFolder }
    }

    /// The steps that may be taken now, in any order, or at once but for ``Planned/waits(for:)``. What waits for
    /// another step is left out, and comes when that one is confirmed.
    package static func plan(_ pending: [PendingItem]) -> [Planned] {
        pending.compactMap { one in step(for: one).map { Planned(pending: one, step: $0) } }
    }

    /// Nothing can be done and nothing is under way: the items wait for one another's names. One that has
    /// a name that another wants goes out of its way. Or a folder is to go into one that the store has put into it.
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

    /// The step for one item, or nil when it waits for another's.
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

    /// Whoever has the name at the provider is leaving it: first that, then this. (One that the provider has just given the
    /// name, and that could not come to it here, is not.)
    private static func isWaitingForName(_ pending: PendingItem) -> Bool {
        pending.placeIsDoubtful || pending.occupant.map(isLeaving) == true
    }

    private static func isLeaving(_ occupant: ItemRecord) -> Bool {
        occupant.base != nil && occupant.local != occupant.base && occupant.local != occupant.remote
    }
}

import FileProvider
import ItemCatalog

/// What brings the provider's tree a step nearer to the local one.
enum Step: Equatable, Sendable {
    case create
    case uploadContents
    case move(to: TreePlace)
    /// Out of the way of another move, to a name that nobody has: two items swap theirs.
    case moveAside
    case updateMetadata
    case delete
    /// Neither side has it: the row can go.
    case forget
    /// The provider has something new in a folder that was deleted here: it is shown again.
    case takeBackDeletion
}

/// Turns the difference between the trees into steps. A pure function: no clock, no catalog.
enum Planner {
    struct Planned: Equatable, Sendable {
        var pending: PendingItem
        var step: Step
    }

    /// The steps that may be taken now, in any order or at once. What waits for another step is left
    /// out, and comes when that one is confirmed.
    static func plan(_ pending: [PendingItem]) -> [Planned] {
        let byID = Dictionary(pending.map { ($0.item.id, $0) }, uniquingKeysWith: { a, _ in a })
        var asides: Set<ItemID> = []
        return pending.compactMap { one in
            guard let step = step(for: one) else {
                guard isSwap(one, byID), asides.isDisjoint(with: cycle(of: one, byID)) else { return nil }
                asides.insert(one.item.id)
                return Planned(pending: one, step: .moveAside)
            }
            return Planned(pending: one, step: step)
        }
    }

    /// Nothing can be done and nothing is under way: the items wait for one another's names. One that has
    /// a name that another wants goes out of its way.
    static func breakDeadlock(among waiting: [PendingItem], at moment: FileTime) -> Planned? {
        for one in waiting where isWaitingForName(one) {
            guard let occupant = one.occupant, occupant.identifier != nil, occupant.readyAt <= moment,
                (occupant.failure?.retryAt ?? moment) <= moment
            else { continue }
            let pending = PendingItem(item: occupant, parentIdentifier: nil, occupant: nil, remoteChildren: .none)
            return Planned(pending: pending, step: .moveAside)
        }
        return nil
    }

    /// The step for one item, or nil when it waits for another's.
    private static func step(for pending: PendingItem) -> Step? {
        let item = pending.item
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
        if item.metadataRevision != 0 { return .updateMetadata }
        return nil
    }

    /// Whoever has the name at the provider is leaving it: first that, then this.
    private static func isWaitingForName(_ pending: PendingItem) -> Bool {
        guard let occupant = pending.occupant, occupant.base != nil else { return false }
        return occupant.local != occupant.remote
    }

    private static func isSwap(_ pending: PendingItem, _ byID: [ItemID: PendingItem]) -> Bool {
        pending.item.local != nil && pending.item.identifier != nil && !cycle(of: pending, byID).isEmpty
    }

    /// The items that wait for one another's names in a circle through `start`; empty when there is none.
    private static func cycle(of start: PendingItem, _ byID: [ItemID: PendingItem]) -> Set<ItemID> {
        var members: Set<ItemID> = []
        var current = start
        while members.insert(current.item.id).inserted {
            guard current.item.local != nil, isWaitingForName(current),
                let occupant = current.occupant, let next = byID[occupant.id]
            else { return [] }
            current = next
        }
        return current.item.id == start.item.id ? members : []
    }
}

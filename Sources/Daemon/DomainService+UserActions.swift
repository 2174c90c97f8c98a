import ControlAPI
import DocumentServices
import FileProvider
import ItemCatalog
import SyncEngine
import Trees
import Volume

/// A user's decisions about changes that the store does not take.
extension DomainService {
    private var catalog: Catalog { volume.engine.mount.catalog }

    /// For people; for an item that was deleted here, its last path.
    func shownPath(_ item: ItemRecord) -> String {
        domainPaths.shown((try? catalog.read { try $0.path(of: item) }) ?? [])
    }

    /// Returns the item at a path; the item may have been deleted here. Does not ask the store: only items with local
    /// changes matter.
    private func item(at path: PathBytes) throws -> ItemRecord {
        let names = path.names
        if let item = try catalog.read({ try $0.itemOrTombstone(at: names) }) { return item }
        let isThere = (try? catalog.read { try $0.resolve(names) }) != nil
        throw ControlFailure(
            code: "path",
            message: "\(domainPaths.shown(names)): "
                + (isThere
                    ? "it is on this machine only, and never in the store"
                    : "no such item, and no deletion of one is pending"))
    }

    func retry(_ paths: [PathBytes], _ timeout: Double) async throws -> [PendingChange] {
        var items: [ItemID]?
        if !paths.isEmpty {
            let roots = try paths.map(item)
            items = try catalog.read { reader in try roots.flatMap { try reader.pending(within: $0.id) } }
        }
        return try await volume.engine.retry(items, timeout: timeout).map(change)
    }

    // MARK: Discard

    /// Checks all changes before it discards the first.
    func discard(_ paths: [PathBytes], agreed: [DiscardedChange]?) async throws -> [DiscardedChange] {
        var plans: [(path: PathBytes, item: ItemID, discards: [Discard])] = []
        var covered: Set<[Filename]> = []
        for path in paths {
            let item = try item(at: path)
            let discards: [Discard]
            do { discards = try await volume.engine.discards(of: item.id) } catch { throw failure(error, path) }
            let touched = Set(discards.map(\.path))
            if touched.isSubset(of: covered) { continue }
            guard touched.isDisjoint(with: covered) else {
                throw ControlFailure(
                    code: "refused",
                    message:
                        "\(domainPaths.shown(path)): its changes include those of another path; name the folder only")
            }
            covered.formUnion(touched)
            plans.append((path, item.id, discards))
        }
        let all = plans.flatMap(\.discards).map(status)
        guard let agreed else { return all }
        guard agreed == all else {
            throw ControlFailure(
                code: "changed",
                message: "the changes are no longer those that were listed; nothing was discarded; list them again")
        }
        for plan in plans {
            do { try await volume.engine.discard(plan.item, agreed: plan.discards) } catch {
                throw failure(error, plan.path)
            }
        }
        return all
    }

    private func status(_ discard: Discard) -> DiscardedChange {
        DiscardedChange(
            path: domainPaths.shown(discard.path), changes: discard.kinds.map(\.rawValue), bytes: discard.bytes,
            state: [discard.item?.rawValue ?? 0, discard.inode?.rawValue ?? 0] + discard.revisions)
    }

    private func failure(_ error: any Error, _ path: PathBytes) -> ControlFailure {
        ControlFailure(code: "refused", message: "\(domainPaths.shown(path)): \(error)")
    }

    // MARK: Conflicts

    func conflicts() throws -> [ConflictStatus] { try catalog.read { try $0.conflicts() }.map(status) }

    func status(_ held: HeldDeletions) -> HeldDeletionsStatus {
        HeldDeletionsStatus(
            items: held.items, incomplete: held.incomplete, since: Double(held.since.nanoseconds) / 1e9)
    }

    func resolve(_ path: PathBytes, _ keep: KeptVersion) async throws -> ControlResponse {
        // (Do not look the path up: the store may be unable to list the folder.)
        let item = try catalog.read { try $0.itemOrTombstone(at: path.names) }
        if let item, try catalog.read({ try !$0.heldItems(within: item.id).isEmpty }) {
            return .deletions(try await resolveDeletions(item, path, keep))
        }
        return .conflicts(try await resolveConflict(path, keep))
    }

    /// An editing program keeps its version of a document beside another program's version.
    func noteConflict(_ original: PathBytes, _ copy: PathBytes) async throws -> ControlResponse {
        let (first, second) = (try await domainPaths.resolve(original), try await domainPaths.resolve(copy))
        do { try volume.engine.noteConflict(original: first.id, copy: second.id) } catch {
            throw failure(error, original)
        }
        return .done
    }

    private func resolveDeletions(
        _ item: ItemRecord, _ path: PathBytes, _ keep: KeptVersion
    ) async throws -> ResolvedDeletions {
        if keep == .both {
            throw ControlFailure(
                code: "refused",
                message:
                    "\(domainPaths.shown(path)): the store deleted it; --keep mine puts it back there, --keep theirs deletes it here"
            )
        }
        do {
            let (items, incomplete) = try await volume.engine.resolveDeletions(within: item.id, keeping: .init(keep))
            return ResolvedDeletions(items: items, incomplete: incomplete)
        } catch {
            throw failure(error, path)
        }
    }

    private func resolveConflict(_ path: PathBytes, _ keep: KeptVersion) async throws -> [ConflictStatus] {
        let record = try await domainPaths.resolve(path)
        let found = try catalog.read { try $0.conflicts(of: record.id) }
        guard let first = found.first else {
            throw ControlFailure(
                code: "refused",
                message:
                    "\(domainPaths.shown(path)): neither in conflict nor held; hydrant conflicts lists the conflicts"
            )
        }
        let statuses = try found.map(status)
        if found.count > 1, keep != .both {
            let copies = statuses.map(\.copy).joined(separator: ", ")
            throw ControlFailure(
                code: "refused",
                message: "\(domainPaths.shown(path)): is in several conflicts; name one of the copies: \(copies)")
        }
        do {
            for conflict in keep == .both ? found : [first] {
                try await volume.engine.resolve(conflict, keeping: .init(keep))
            }
        } catch {
            throw failure(error, path)
        }
        return keep == .both ? statuses : [statuses[0]]
    }

    private func status(_ conflict: ConflictRecord) throws -> ConflictStatus {
        let (original, copy) = try catalog.read { reader in
            (
                try reader.item(conflict.original).flatMap { try? reader.path(of: $0) } ?? [],
                (try? reader.path(of: conflict.copy)) ?? []
            )
        }
        return ConflictStatus(
            original: domainPaths.shown(original), copy: domainPaths.shown(copy),
            moment: Double(conflict.moment.nanoseconds) / 1e9,
            reason: conflict.reason.rawValue, explanation: conflict.reason.text,
            originalPlace: PathBytes(joining: original), copyPlace: PathBytes(joining: copy))
    }
}

extension SyncEngine.KeptVersion {
    fileprivate init(_ keep: ControlAPI.KeptVersion) {
        switch keep {
        case .mine: self = .mine
        case .theirs: self = .theirs
        case .both: self = .both
        }
    }
}

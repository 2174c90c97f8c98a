import FileProvider
import Trees

/// Sends pending changes as the engine does, and applies the rules to the store's answers.
extension Simulation {
    func send(rounds: Int) throws {
        for _ in 0..<rounds where problem == nil {
            if !underWay.isEmpty, rounds > 1 || Bool.random(using: &generator) {
                try reply(to: underWay.keys.sorted { $0.rawValue < $1.rawValue }.randomElement(using: &generator)!)
            }
            let pending = try trees.read { try $0.pending(at: trees.now, limit: 10_000) }
            var steps = Planner.plan(pending).filter { step in !underWay.values.contains { step.waits(for: $0.planned) }
            }
            .shuffled(using: &generator)
            if steps.isEmpty && underWay.isEmpty {
                if let step = Planner.breakDeadlock(among: pending, at: trees.now) { steps = [step] }
            }
            if steps.isEmpty && underWay.isEmpty {
                if try trees.read({ try $0.nextMoment(after: trees.now) }) == nil, !pending.isEmpty,
                    !kinds.contains(.remote)
                {
                    fail("everything waits for something: \(pending.map { Self.show($0) })")
                }
                return
            }
            // All steps at once: none sees the effect of another.
            var begun: [Planner.Planned] = []
            for step in steps where !begun.contains(where: step.waits(for:)) {
                try begin(step)
                begun.append(step)
            }
            for step in begun where !kinds.contains(.lateReplies) || Bool.random(using: &generator) {
                try reply(to: step.pending.item.id)
            }
        }
        if rounds > 1, !kinds.contains(.remote) { fail("it does not end") }
    }

    private func number(_ version: ContentVersion?) -> Int? {
        version.flatMap { Int(String(decoding: $0.bytes, as: UTF8.self)) }
    }

    private func hash(_ content: Int) -> SentContent { SentContent(hash: Array("\(content)".utf8), size: 0) }

    /// The store carries out the step, or refuses it.
    private func begin(_ planned: Planner.Planned) throws {
        let row = planned.pending.item
        log("    \(planned.step) of \(row.id.rawValue) \(row.identifier?.rawValue ?? "")")
        let content = content(of: row) ?? 0
        do {
            underWay[row.id] = (planned, .success(try ask(planned, row, content)))
        } catch let refusal as ModelStore.Refusal {
            // Without another client, the store never refuses a planned step.
            if !kinds.contains(.remote), !kinds.contains(.lostReplies) { throw refusal }
            underWay[row.id] = (planned, .failure(refusal))
        }
    }

    private func ask(_ planned: Planner.Planned, _ row: ItemRecord, _ content: Int) throws -> ItemIdentifier? {
        let placement = row.baseVersion.flatMap { Int(String(decoding: $0.metadata.bytes, as: UTF8.self)) }
        switch planned.step {
        case .create, .uploadContents:
            if row.kind.isDocument {
                try trees.write { try $0.recordSending(row.id, hash(content)) }
            } else if let local = row.local {
                _ = try trees.write { try $0.recordAttempt(row.id, at: local) }
            }
            guard planned.step == .create else {
                try store.change(row.identifier!, content: content, base: number(row.baseVersion?.content))
                return row.identifier
            }
            return try store.create(
                planned.pending.parentIdentifier!, row.local!.name, isFolder: row.kind.isFolder, content: content)
        case .move(let place):
            try store.move(row.identifier!, planned.pending.parentIdentifier!, place.name, placement: placement)
        case .moveAside:
            guard let there = store.nodes[row.identifier!] else { throw ModelStore.Refusal(code: .noSuchItem) }
            try store.move(row.identifier!, there.parent, Filename("aside \(row.id.rawValue)"), placement: placement)
        case .delete: try store.delete(row.identifier!, base: number((row.baseVersion ?? row.remoteVersion)?.content))
        case .updateMetadata, .forget, .takeBackDeletion, .takeBackMove, .findCreation: break
        }
        return row.identifier
    }

    /// The store's reply arrives, unless it is lost.
    func reply(to id: ItemID) throws {
        guard let (planned, answer) = underWay.removeValue(forKey: id) else { return }
        let row = planned.pending.item
        let isLost = kinds.contains(.lostReplies) && Int.random(in: 0..<4, using: &generator) == 0
        log("    \(isLost ? "no " : "")reply to \(planned.step) of \(id.rawValue): \(answer)")
        if isLost, ![.forget, .takeBackDeletion, .takeBackMove, .findCreation].contains(planned.step) {
            return try trees.write { try $0.recordFailure(id, code: "lost", message: "", retryAt: trees.now) }
        }
        switch answer {
        case .success(let identifier): try confirm(planned, row, identifier)
        case .failure(let refusal): try settle(planned, row, refusal)
        }
    }

    private func confirm(_ planned: Planner.Planned, _ row: ItemRecord, _ identifier: ItemIdentifier?) throws {
        // The reply shows the moment at which the store took the step; a listing reports newer changes.
        let item = identifier.flatMap { store.item($0) }
        if planned.step == .findCreation { return try findCreation(row) }
        try trees.write { writer in
            switch planned.step {
            case .create:
                guard let item else { return }
                try writer.confirmCreation(
                    row.id, as: item, contentRevision: row.contentRevision, metadataRevision: row.metadataRevision,
                    sent: row.local, defaults: defaults)
            case .move(let place):
                guard let item else { return }
                try writer.confirmMove(row.id, as: item, sent: place, defaults: defaults)
            case .moveAside:
                guard let item else { return }
                let aside = TreePlace(parent: row.base!.parent, name: Filename("aside \(row.id.rawValue)"))
                try writer.confirmMove(row.id, as: item, sent: aside, defaults: defaults)
            case .uploadContents:
                guard let item else { return }
                try writer.confirmContents(
                    row.id, as: item, contentRevision: row.contentRevision, metadataRevision: row.metadataRevision)
            case .updateMetadata: try writer.keepMetadataLocal(row.id, metadataRevision: row.metadataRevision)
            case .delete, .forget: try writer.confirmDeletion(row.id, defaults: defaults)
            case .takeBackDeletion: try writer.takeBackDeletion(row.id, current: nil, defaults: defaults)
            case .takeBackMove: try writer.takeBackMove(row.id, defaults: defaults)
            case .findCreation: break
            }
        }
    }

    // MARK: Refusals, as ``ConflictTable`` says

    private func settle(_ planned: Planner.Planned, _ row: ItemRecord, _ refusal: ModelStore.Refusal) throws {
        let existing = refusal.existing.flatMap { store.item($0) }
        let step: ConflictTable.Kind =
            switch planned.step {
            case .create: .create
            case .uploadContents: .uploadContents
            case .move, .moveAside: .move
            case .delete: .delete
            default: .updateMetadata
            }
        let found: ConflictTable.Found = try existing.map { try compare($0, row) } ?? .unknown
        guard let resolution = ConflictTable.resolution(of: step, refusal.code, found) else {
            // A folder would move into itself: a listing shows what the other client did.
            return try listAll()
        }
        log("        \(resolution)")
        switch resolution {
        case .confirm where step == .delete: try trees.write { try $0.confirmDeletion(row.id, defaults: defaults) }
        case .confirm, .keepBoth:
            guard let existing else { return }
            let isOthers = try trees.read { try $0.item(identifiedBy: existing.identifier)?.inode != nil }
            if step == .create, isOthers {
                try keepBoth(row, existing)
            } else if resolution == .confirm {
                try confirm(row, existing, step, row.contentRevision)
            } else if try isSent(existing, row) {
                try confirm(row, existing, step, -1)
            } else {
                try keepBoth(row, existing)
            }
        case .giveWay: try trees.write { try $0.giveWay(row.id, to: existing, defaults: defaults) }
        case .recreate: try trees.write { try $0.becomesUnconfirmed(row.id) }
        case .takeBackDeletion:
            let current = row.identifier.flatMap { store.item($0) }
            try trees.write { try $0.takeBackDeletion(row.id, current: current, defaults: defaults) }
            try listAll()
        case .refreshFirst: if let identifier = row.identifier { try refresh(identifier) }
        case .refreshFolder: if let parent = planned.pending.parentIdentifier { try refresh(parent) }
        case .listFolder, .keepLocal: try listAll()
        }
    }

    private func compare(_ there: Item, _ row: ItemRecord) throws -> ConflictTable.Found {
        if row.kind.isFolder != there.kind.isFolder { return .different }
        if row.kind.isFolder { return .same }
        return number(there.version.content) == content(of: row) ? .same : .different
    }

    private func isSent(_ there: Item, _ row: ItemRecord) throws -> Bool {
        guard there.kind.isDocument, row.contentRevision != 0, let content = number(there.version.content) else {
            return false
        }
        return try trees.read { try $0.item(row.id)?.sent.contains(hash(content)) } == true
    }

    private func confirm(
        _ row: ItemRecord, _ item: Item, _ step: ConflictTable.Kind, _ contentRevision: Int64
    ) throws {
        try trees.write { writer in
            if step == .create {
                _ = try writer.confirmCreation(
                    row.id, as: item, contentRevision: contentRevision, metadataRevision: -1, defaults: defaults)
            } else {
                try writer.confirmContents(row.id, as: item, contentRevision: contentRevision, metadataRevision: -1)
            }
        }
        if row.kind.isFolder { try listAll() }
    }

    private func keepBoth(_ row: ItemRecord, _ current: Item) throws {
        _ = try trees.write { try $0.keepBoth(row.id, current: current, defaults: defaults) }
    }

    private func findCreation(_ row: ItemRecord) throws {
        guard let place = row.attempted else { return }
        let folder = try trees.read { try $0.item(place.parent)?.identifier }
        let there = folder.flatMap { store.child(of: $0, named: place.name) }
        let made = there.flatMap { store.item($0) }.flatMap { made -> Item? in
            if row.kind.isFolder != made.kind.isFolder { return nil }
            if row.kind.isFolder { return store.children(of: made.identifier).isEmpty ? made : nil }
            return number(made.version.content).map { row.sent.contains(hash($0)) } == true ? made : nil
        }
        try trees.write { writer in
            if let made {
                let isOurs = try writer.confirmCreation(
                    row.id, as: made, contentRevision: -1, metadataRevision: -1, sent: place, defaults: defaults)
                if isOurs { return }
            }
            try writer.forgetAttempt(row.id, at: place, defaults: defaults)
        }
    }
}

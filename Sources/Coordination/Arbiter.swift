/// Grants claims (``claim(_:)``): many may read an item at a time, or one may write it.
///
/// A claim on several items is granted as a whole, so that two claims never wait for each other. Claims are granted in
/// the order in which they came, except for a claim that is made while its maker holds another: it waits for granted
/// claims only, because waiting claims may wait for its maker. A claim that could only wait for ever is refused.
///
/// Lives in memory only: when the daemon ends, the connections of the holders end too.
package actor Arbiter {
    /// Returns where a subject is now. Called often, so it must be quick.
    private let locate: @Sendable (ClaimIntent) -> ClaimTarget
    /// Returns another number when an item may have moved.
    private let edition: @Sendable () -> Int
    private var located: Int?
    /// How long a claim waits for a presenter's answer.
    private let patience: Duration
    /// Called for a presenter that did not answer in time, for the log.
    private let gaveUp: @Sendable (Presenter, PresenterQuestion.Kind) -> Void

    private struct Entry {
        enum State { case waiting, asking, granted }
        var claim: Claim
        var state = State.waiting
        var targets: [ClaimTarget]
        /// Set while the claim waits.
        var continuation: CheckedContinuation<Void, any Error>?
        /// Presenters that were asked to relinquish the item.
        var relinquished: [Presenter] = []
        /// All presenters have been asked; the claim still waits for another claim, such as a presenter's save.
        var wasAsked = false
        /// Presenters that have not answered yet.
        var asked: Set<PresenterID> = []
    }
    private var entries: [ClaimID: Entry] = [:]
    /// All claims, the oldest first.
    private var order: [ClaimID] = []
    private var presenters: [PresenterID: Presenter] = [:]
    private struct Pending {
        var presenter: PresenterID
        var continuation: CheckedContinuation<Bool, Never>
    }
    private var pending: [Int: Pending] = [:]
    private var questions = 0

    package init(
        patience: Duration, edition: @escaping @Sendable () -> Int,
        locate: @escaping @Sendable (ClaimIntent) -> ClaimTarget,
        gaveUp: @escaping @Sendable (Presenter, PresenterQuestion.Kind) -> Void = { _, _ in }
    ) {
        self.patience = patience
        self.edition = edition
        self.locate = locate
        self.gaveUp = gaveUp
    }

    // MARK: Claims

    /// Returns when the claim is granted; it is held until ``end(_:)``.
    ///
    /// - Throws: ``CoordinationError``, also when the task is cancelled before the grant; then nothing is held.
    package func claim(_ claim: Claim) async throws {
        guard entries[claim.id] == nil else { throw CoordinationError.duplicate }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                // If the task was cancelled before this point, `onCancel` found no entry.
                if Task.isCancelled { return continuation.resume(throwing: CoordinationError.cancelled) }
                entries[claim.id] = Entry(
                    claim: claim, targets: claim.intents.map(locate), continuation: continuation)
                order.append(claim.id)
                refuseIfCyclic(claim.id)
                proceed()
            }
        } onCancel: {
            Task { await self.cancel(claim.id) }
        }
    }

    private func cancel(_ id: ClaimID) {
        guard let entry = entries[id], entry.state != .granted else { return }
        remove(id, CoordinationError.cancelled)
    }

    /// Items may have moved, which may unblock claims.
    package func itemsMoved() { if edition() != located { proceed() } }

    /// Ends a claim, granted or waiting.
    package func end(_ id: ClaimID) { remove(id, CoordinationError.cancelled) }

    private func remove(_ id: ClaimID, _ error: any Error) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        order.removeAll { $0 == id }
        entry.continuation?.resume(throwing: error)
        for presenter in entry.relinquished where presenters[presenter.id] != nil {
            presenter.send(PresenterQuestion(kind: .reacquire, number: 0))
        }
        proceed()
    }

    /// All claims, granted and waiting, the oldest first, for people.
    package func overview() -> [(claim: Claim, isGranted: Bool)] {
        order.compactMap { entries[$0] }.map { ($0.claim, $0.state == .granted) }
    }

    package var waits: WaitGraph {
        refreshTargets()
        return graph()
    }

    // MARK: Granting

    private func proceed() {
        refreshTargets()
        for id in order {
            guard let entry = entries[id], entry.state == .waiting, blockers(of: id).isEmpty else { continue }
            begin(id)
        }
    }

    /// Locates the subjects again, because items may have moved.
    private func refreshTargets() {
        let edition = edition()
        if located == edition { return }
        located = edition
        for (id, entry) in entries { entries[id]?.targets = entry.claim.intents.map(locate) }
    }

    /// Claims that must end before this one is granted.
    private func blockers(of id: ClaimID) -> Set<ClaimID> {
        guard let entry = entries[id] else { return [] }
        var blockers: Set<ClaimID> = []
        var isEarlier = true
        for other in order {
            if other == id {
                isEarlier = false
                continue
            }
            guard let holder = entries[other], conflict(entry, holder) else { continue }
            switch holder.state {
            case .granted: blockers.insert(other)
            case .asking:
                // A presenter that was asked to save must be able to claim its item.
                if let presenter = entry.claim.presenter, holder.asked.contains(presenter) { continue }
                blockers.insert(other)
            case .waiting: if isEarlier, entry.claim.within.isEmpty { blockers.insert(other) }
            }
        }
        return blockers
    }

    private func conflict(_ one: Entry, _ other: Entry) -> Bool {
        guard one.claim.purpose != other.claim.purpose else { return false }
        for (intent, target) in zip(one.claim.intents, one.targets) {
            for (otherIntent, otherTarget) in zip(other.claim.intents, other.targets) {
                if intent.isWriting, target.covers(otherTarget) { return true }
                if otherIntent.isWriting, otherTarget.covers(target) { return true }
            }
        }
        return false
    }

    // MARK: Deadlocks

    private func refuseIfCyclic(_ id: ClaimID) {
        refreshTargets()
        guard let cycle = graph().cycle(through: id) else { return }
        let others = cycle.filter { $0 != id }.compactMap { entries[$0]?.claim.holder }
        remove(id, CoordinationError.wouldDeadlock(others))
    }

    private func graph() -> WaitGraph {
        var graph = WaitGraph()
        for (id, entry) in entries where entry.state == .waiting {
            graph.edges[id, default: []].formUnion(blockers(of: id))
            // The outer claims end only after this one.
            for outer in entry.claim.within { graph.edges[outer, default: []].insert(id) }
            guard let presenter = entry.claim.presenter else { continue }
            for (other, holder) in entries where holder.asked.contains(presenter) {
                graph.edges[other, default: []].insert(id)
            }
        }
        return graph
    }

    // MARK: Presenters

    package func add(_ presenter: Presenter) { presenters[presenter.id] = presenter }

    /// Removes a presenter; its open questions count as unanswered.
    package func remove(_ id: PresenterID) {
        presenters[id] = nil
        for (number, question) in pending where question.presenter == id { close(number, isAnswered: false) }
    }

    /// Takes a presenter's answer.
    package func answer(_ number: Int, by presenter: PresenterID) {
        if pending[number]?.presenter == presenter { close(number, isAnswered: true) }
    }

    private func close(_ number: Int, isAnswered: Bool) {
        pending.removeValue(forKey: number)?.continuation.resume(returning: isAnswered)
    }

    /// Reserves the claim's items, asks their presenters, then grants the claim.
    private func begin(_ id: ClaimID) {
        guard let entry = entries[id] else { return }
        if entry.wasAsked { return grant(id) }
        let steps = questions(for: entry)
        guard !steps.isEmpty else { return grant(id) }
        entries[id]?.state = .asking
        entries[id]?.asked = Set(steps.map(\.presenter.id))
        entries[id]?.relinquished = steps.map(\.presenter)
        Task {
            await withTaskGroup { group in
                for step in steps {
                    group.addTask {
                        for kind in step.kinds {
                            guard await self.isAsking(id), await self.ask(step.presenter, kind) else { break }
                        }
                        await self.hasAnswered(step.presenter.id, id)
                    }
                }
            }
            grant(id)
        }
    }

    private func isAsking(_ id: ClaimID) -> Bool { entries[id]?.state == .asking }

    private func hasAnswered(_ presenter: PresenterID, _ id: ClaimID) { entries[id]?.asked.remove(presenter) }

    private func grant(_ id: ClaimID) {
        guard var entry = entries[id] else { return }
        entry.asked = []
        // A presenter that was asked, and allowed to save, may still use the item after its time is up.
        let isFree = !entries.contains { $0.key != id && $0.value.state == .granted && conflict(entry, $0.value) }
        guard isFree else {
            (entry.state, entry.wasAsked) = (.waiting, true)
            entries[id] = entry
            return
        }
        entry.state = .granted
        let continuation = entry.continuation
        entry.continuation = nil
        entries[id] = entry
        continuation?.resume()
    }

    private func questions(for entry: Entry) -> [(presenter: Presenter, kinds: [PresenterQuestion.Kind])] {
        presenters.values.compactMap { presenter in
            guard presenter.purpose != entry.claim.purpose, presenter.id != entry.claim.presenter else { return nil }
            let shown = locate(ClaimIntent(presenter.subject, .reading(savesFirst: false)))
            var kinds: [PresenterQuestion.Kind] = []
            for (intent, target) in zip(entry.claim.intents, entry.targets) where !intent.isMetadataOnly {
                guard intent.isWriting ? target.covers(shown) : target.subject == shown.subject else { continue }
                for kind in intent.questions where !kinds.contains(kind) { kinds.append(kind) }
            }
            return kinds.isEmpty ? nil : (presenter, kinds)
        }
    }

    /// - Returns: false: the presenter did not answer in time, or is gone.
    private func ask(_ presenter: Presenter, _ kind: PresenterQuestion.Kind) async -> Bool {
        guard presenters[presenter.id] != nil else { return false }
        questions += 1
        let number = questions
        let timeout = Task { [patience] in
            try await Task.sleep(for: patience)
            self.giveUp(number, presenter, kind)
        }
        defer { timeout.cancel() }
        return await withCheckedContinuation { continuation in
            pending[number] = Pending(presenter: presenter.id, continuation: continuation)
            presenter.send(PresenterQuestion(kind: kind, number: number))
        }
    }

    private func giveUp(_ number: Int, _ presenter: Presenter, _ kind: PresenterQuestion.Kind) {
        guard pending[number] != nil else { return }
        gaveUp(presenter, kind)
        close(number, isAnswered: false)
    }
}

extension ClaimIntent {
    fileprivate var questions: [PresenterQuestion.Kind] {
        switch access {
        case .reading(let savesFirst): savesFirst ? [.relinquishToReader, .saveChanges] : [.relinquishToReader]
        case .writing(let savesFirst, let deletes):
            [.relinquishToWriter] + (deletes ? [.accommodateDeletion] : savesFirst ? [.saveChanges] : [])
        }
    }
}

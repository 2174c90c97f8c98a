/// Lets many read an item at a time, or one write it: whoever asks by way of ``claim(_:)``.
///
/// A claim on several items is granted as a whole, so that two of them never wait for each other. Those who came first are
/// first, but for claims that are made while another is held: these wait only for what is granted, since what they would wait
/// for might wait for them. What can only end in waiting for ever is refused.
///
/// In memory only: when the daemon ends, so do those who hold something.
package actor Arbiter {
    /// Where subjects are now. Asked often: quick.
    private let locate: @Sendable (ClaimIntent) -> ClaimTarget
    /// Another number when something may have moved.
    private let edition: @Sendable () -> Int
    private var located: Int?
    /// How long a presenter may take for an answer; the others do not wait longer for it.
    private let patience: Duration
    /// Presenters that did not answer, for the log.
    private let gaveUp: @Sendable (Presenter, PresenterQuestion.Kind) -> Void

    private struct Entry {
        enum State { case waiting, asking, granted }
        var claim: Claim
        var state = State.waiting
        var targets: [ClaimTarget]
        /// While it is not granted.
        var continuation: CheckedContinuation<Void, any Error>?
        /// Those who have been asked to let go.
        var relinquished: [Presenter] = []
        /// All presenters have been asked; it waits for what one of them does meanwhile.
        var wasAsked = false
        /// Presenters that have not answered yet.
        var asked: Set<PresenterID> = []
    }
    private var entries: [ClaimID: Entry] = [:]
    /// All of them, the oldest first.
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
    /// - Throws: ``CoordinationError``; then nothing is held. When the task is cancelled before it is granted too.
    package func claim(_ claim: Claim) async throws {
        guard entries[claim.id] == nil else { throw CoordinationError.duplicate }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                // Cancelled before it was here: `onCancel` found nothing.
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

    /// Something may have moved: perhaps out of the way.
    package func itemsMoved() { if edition() != located { proceed() } }

    /// Gives up a claim, whatever became of it.
    package func end(_ id: ClaimID) { remove(id, CoordinationError.cancelled) }

    private func remove(_ id: ClaimID, _ error: any Error) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        order.removeAll { $0 == id }
        entry.continuation?.resume(throwing: error)
        for presenter in entry.relinquished where presenters[presenter.id] != nil {
            presenter.tell(PresenterQuestion(kind: .reacquire, number: 0))
        }
        proceed()
    }

    /// Who is granted what, and who waits, oldest first: for people.
    package func overview() -> [(claim: Claim, isGranted: Bool)] {
        order.compactMap { entries[$0] }.map { ($0.claim, $0.state == .granted) }
    }

    package var waits: WaitGraph {
        refreshTargets()
        return graph()
    }

    // MARK: Who is next

    private func proceed() {
        refreshTargets()
        for id in order {
            guard let entry = entries[id], entry.state == .waiting, blockers(of: id).isEmpty else { continue }
            begin(id)
        }
    }

    /// Items may have moved since.
    private func refreshTargets() {
        let edition = edition()
        if located == edition { return }
        located = edition
        for (id, entry) in entries { entries[id]?.targets = entry.claim.intents.map(locate) }
    }

    /// Claims that have to end before this one is granted.
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
                // A presenter that is asked to save has to be able to.
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

    // MARK: Those who would wait for ever

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
            // These end only after it.
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

    /// What it was asked counts as unanswered.
    package func remove(_ id: PresenterID) {
        presenters[id] = nil
        for (number, question) in pending where question.presenter == id { close(number, isAnswered: false) }
    }

    /// A presenter has done what it was asked.
    package func answer(_ number: Int, by presenter: PresenterID) {
        if pending[number]?.presenter == presenter { close(number, isAnswered: true) }
    }

    private func close(_ number: Int, isAnswered: Bool) {
        pending.removeValue(forKey: number)?.continuation.resume(returning: isAnswered)
    }

    /// Nobody else is granted what it wants from now on; those who show it are asked first.
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
        // A presenter that was asked may use the item still: it was let past, and has taken longer than its time.
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

    /// - Returns: false: it did not answer in time, or is gone.
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
            presenter.tell(PresenterQuestion(kind: kind, number: number))
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

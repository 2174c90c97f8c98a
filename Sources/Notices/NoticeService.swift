import ControlAPI
import SessionBus

/// Follows all mounts of this user, shows their notices, and carries out what people answer.
package actor NoticeService {
    private let tools: NoticeTools
    private let presenter: any NoticePresenter
    private let began = ContinuousClock.now
    private var board = NoticeBoard()
    private var snapshots: [String: DomainSnapshot] = [:]
    private var watchers: [String: (watcher: DomainWatcher, task: Task<Void, Never>)] = [:]
    private var questions: [NoticeKey: Question] = [:]
    /// Mounts whose daemon does not answer.
    private var silent: Set<String> = []
    private let hasIcon: Bool
    private let ends: AsyncStream<Void>
    private let end: AsyncStream<Void>.Continuation
    private var timer: Task<Void, Never>?
    /// In order, carried out by one task.
    private let effects: AsyncStream<Effect>
    private let effect: AsyncStream<Effect>.Continuation

    private struct Question {
        var action: NoticeAction
        var causes: [Cause]
        var agreed: [DiscardedChange]
    }
    private enum Effect: Sendable {
        case show(Notice)
        case close(NoticeKey)
        case icon(StatusModel)
    }

    /// - Parameter hasIcon: show a status icon too; needs a bus.
    package init(_ tools: NoticeTools, _ presenter: any NoticePresenter, hasIcon: Bool) {
        self.tools = tools
        self.presenter = presenter
        self.hasIcon = hasIcon
        (ends, end) = AsyncStream.makeStream()
        (effects, effect) = AsyncStream.makeStream()
    }

    /// Until the task is cancelled, a person quits, or the session's bus has ended; then closes what it shows.
    package func run() async {
        let icon = hasIcon ? tools.bus.map { StatusIcon($0, model) } : nil
        // (Without the icon, which a second program may have in its place, the notices are still there.)
        try? await icon?.appear()
        if let bus = tools.bus {
            Task { [end] in
                await bus.ended()
                end.finish()
            }
        }
        let tasks = [
            Task { [weak self] in for await _ in MountChanges.stream() { await self?.followMounts() } },
            Task { [effects, presenter] in
                for await effect in effects {
                    switch effect {
                    case .show(let notice): await presenter.show(notice)
                    case .close(let key): await presenter.close(key)
                    case .icon(let model): await icon?.update(model)
                    }
                }
            },
            Task { [weak self, presenter] in for await answer in presenter.answers { await self?.take(answer) } },
            Task { [weak self] in
                guard let icon else { return }
                for await deed in icon.deeds { await self?.perform(deed) }
            },
        ]
        for await _ in ends {}
        for task in tasks { task.cancel() }
        for (_, task) in watchers.values { task.cancel() }
        timer?.cancel()
        for key in Set(board.shown.keys).union(questions.keys) { await presenter.close(key) }
    }

    // MARK: Mounts

    private func followMounts() {
        let mounted = Set(MountTable.ownDomains().map(\.mountPoint))
        for (mountPoint, watched) in watchers where !mounted.contains(mountPoint) {
            watched.task.cancel()
            watchers[mountPoint] = nil
            snapshots[mountPoint] = nil
            silent.remove(mountPoint)
            perform(board.update(mountPoint, Causes(), at: now))
        }
        for mountPoint in mounted where watchers[mountPoint] == nil {
            let watcher = DomainWatcher(mountPoint) { [weak self] in await self?.take($0, of: mountPoint) }
            watchers[mountPoint] = (watcher, Task { await watcher.run() })
        }
    }

    private func take(_ snapshot: DomainSnapshot?, of mountPoint: String) {
        guard watchers[mountPoint] != nil else { return }
        // (Without a daemon its notices stay: it may be back in a moment, and the causes are still there.)
        guard let snapshot else {
            silent.insert(mountPoint)
            effect.yield(.icon(model))
            return
        }
        silent.remove(mountPoint)
        snapshots[mountPoint] = snapshot
        let wasFull = !board.causes(of: NoticeKey(.diskFull, mountPoint)).isEmpty
        perform(board.update(mountPoint, Causes(snapshot, large: tools.large, wasFull: wasFull), at: now))
    }

    // MARK: The icon

    private var model: StatusModel {
        let domains = snapshots.sorted { $0.key < $1.key }.map { mountPoint, snapshot in
            StatusModel.Domain(
                snapshot, needs: board.needs(mountPoint), isSilent: silent.contains(mountPoint))
        }
        return StatusModel(domains, tools.words)
    }

    private func perform(_ deed: StatusModel.Deed) {
        switch deed {
        case .openFolder(let place): Task { [tools] in try? await tools.open(Array(place.utf8)) }
        case .pause(let place): set(.pause, place)
        case .resume(let place): set(.resume, place)
        case .showNeeds(let place): perform(board.showAgain(place))
        case .quit: end.finish()
        }
    }

    /// (What became of it shows in the menu.)
    private func set(_ request: ControlRequest, _ mountPoint: String) {
        let nudge = watchers[mountPoint]?.watcher.nudge
        Task {
            if let path = try? SocketDirectory.socketPath(mountPoint: mountPoint) {
                _ = try? await ControlClient(socketPath: path).send(request, timeout: 30)
            }
            nudge?.yield()
        }
    }

    // MARK: Notices

    private var now: Duration { began.duration(to: .now) }

    private func perform(_ changes: [NoticeBoard.Effect]) {
        for change in changes {
            switch change {
            case .close(let key):
                questions[key] = nil
                effect.yield(.close(key))
            case .show(let key, let causes):
                // A question stays until it is answered.
                guard questions[key] == nil, let notice = notice(key, causes) else { continue }
                effect.yield(.show(notice))
            }
        }
        effect.yield(.icon(model))
        timer?.cancel()
        guard let due = board.nextDue else { return }
        timer = Task { [weak self, now] in
            do { try await Task.sleep(for: max(.zero, due - now)) } catch { return }
            await self?.tick()
        }
    }

    private func tick() { perform(board.tick(at: now)) }

    private func notice(_ key: NoticeKey, _ causes: [Cause]) -> Notice? {
        guard let snapshot = snapshots[key.mountPoint], !causes.isEmpty else { return nil }
        return tools.words.notice(key, causes, snapshot)
    }

    // MARK: Answers

    private func take(_ answer: NoticeAnswer) {
        switch answer {
        case .forgotten:
            questions = [:]
            for (key, causes) in board.shown { if let notice = notice(key, causes) { effect.yield(.show(notice)) } }
        case .putAway(let key):
            questions[key] = nil
            board.putAway(key)
        case .pressed(let key, let action): press(action, key)
        }
    }

    private func press(_ action: NoticeAction, _ key: NoticeKey) {
        guard let snapshot = snapshots[key.mountPoint] else { return }
        if let question = questions.removeValue(forKey: key) {
            guard action == .yes else { return showAgain(key) }
            let deeds = NoticeDeeds(snapshot: snapshot, causes: question.causes, tools: tools)
            Task { await carryOut(question.action, key, deeds, agreed: question.agreed) }
            return
        }
        // What the notice said, not what has come since.
        let causes = board.shown[key] ?? board.causes(of: key)
        guard !causes.isEmpty else { return }
        let deeds = NoticeDeeds(snapshot: snapshot, causes: causes, tools: tools)
        if action.isAskedAgain {
            Task { await ask(action, key, deeds) }
        } else {
            Task { await carryOut(action, key, deeds, agreed: []) }
        }
    }

    private func ask(_ action: NoticeAction, _ key: NoticeKey, _ deeds: NoticeDeeds) async {
        do {
            let plan = action == .discard ? try await deeds.plan() : []
            guard !board.causes(of: key).isEmpty else { return }
            questions[key] = Question(action: action, causes: deeds.causes, agreed: plan)
            let lost = action == .discard ? plan.map(\.bytes).reduce(0, &+) : nil
            effect.yield(.show(tools.words.question(action, key, deeds.causes, lost: lost)))
        } catch { fail(error, key) }
    }

    private func carryOut(_ action: NoticeAction, _ key: NoticeKey, _ deeds: NoticeDeeds, agreed: [DiscardedChange])
        async
    {
        do {
            try await deeds.carryOut(action, agreed: agreed)
            // (The button has closed it; what it did not end is shown again.)
            if [.show, .compare, .signIn].contains(action) { showAgain(key) }
        } catch { fail(error, key) }
        watchers[key.mountPoint]?.watcher.nudge.yield()
    }

    private func showAgain(_ key: NoticeKey) {
        if let causes = board.shown[key], let notice = notice(key, causes) { effect.yield(.show(notice)) }
    }

    private func fail(_ error: any Error, _ key: NoticeKey) {
        let message = (error as? NoticeFailure)?.message ?? "\(error)"
        guard let notice = notice(key, board.causes(of: key)) else { return }
        effect.yield(.show(tools.words.failed(message, notice)))
    }
}

import ControlAPI
import Notices
import Testing

@Suite("Notices: the status icon's words")
struct StatusModelTests {
    private static func model(_ domains: [StatusModel.Domain], _ language: NoticeWords.Language = .english)
        -> StatusModel
    {
        StatusModel(domains, NoticeWords(language))
    }

    private static func domain(
        needs: Int = 0, isSilent: Bool = false, _ change: (inout DomainStatus) -> Void = { _ in }
    ) -> StatusModel.Domain {
        StatusModel.Domain(DomainSnapshot(NoticeBoardTests.status(change)), needs: needs, isSilent: isSilent)
    }

    @Test("the most urgent state of all domains is the icon's; each has its line")
    func states() {
        let fine = Self.domain()
        let offline = Self.domain { $0.connection = ConnectionStatus(isOnline: false) }
        let paused = Self.domain { $0.settings = DomainSettings(isPaused: true) }
        let busy = Self.domain { $0.pending = [PendingChange(path: "/a", what: "upload")] }
        #expect(Self.model([]).isIdle && Self.model([]).state == .upToDate)
        #expect(Self.model([fine, busy]).state == .transferring)
        #expect(Self.model([busy, paused]).state == .paused)
        #expect(Self.model([paused, offline]).state == .offline)
        #expect(Self.model([offline, Self.domain(needs: 2)]).state == .needsYou)
        #expect(Self.model([fine, Self.domain(isSilent: true)]).state == .offline)
        #expect(Self.model([fine, paused]).tooltip == "Work: up to date\nWork: paused")
        #expect(Self.model([busy], .german).tooltip == "Work: 1 Änderung wartet")
    }

    @Test("the menu: the state, transfers, what needs a person, the folder, Pause or Resume")
    func menu() {
        let busy = Self.domain(needs: 3) {
            $0.transfers = [
                RunningTransfer(direction: .download, path: "/home/ada/Work/film", bytes: 1, total: 4, started: 0)
            ]
        }
        let place = NoticeBoardTests.mount
        #expect(
            Self.model([busy]).lines.map(\.label)
                == ["Work: 1 transfer", "↓ “film” 25 %", "3 things need you", "Open folder", "Pause", "", "Quit"])
        #expect(
            Self.model([busy]).lines.compactMap(\.deed) == [
                .showNeeds(place), .openFolder(place), .pause(place), .quit,
            ])
        let paused = Self.model([Self.domain { $0.settings = DomainSettings(isPaused: true) }])
        #expect(paused.lines.compactMap(\.deed) == [.openFolder(place), .resume(place), .quit])
        let silent = Self.model([Self.domain(isSilent: true)])
        #expect(silent.lines.compactMap(\.deed) == [.openFolder(place), .quit])
    }

    @Test("“n things need you” shows all notices again, also those that were put away")
    func again() {
        var board = NoticeBoard()
        _ = board.update(NoticeBoardTests.mount, NoticeBoardTests.causes(conflicts: ["a"]), at: .zero)
        _ = board.tick(at: .seconds(2))
        board.putAway(NoticeBoardTests.key)
        #expect(
            board.showAgain(NoticeBoardTests.mount).map { effect in
                if case .show(let key, let causes) = effect { return "\(key.kind) \(causes.count)" }
                return "close"
            } == ["conflict 1"])
        #expect(board.showAgain("/other").isEmpty)
    }
}

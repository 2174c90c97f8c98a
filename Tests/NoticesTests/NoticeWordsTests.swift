import ControlAPI
import Notices
import Testing

@Suite("Notices: their words")
struct NoticeWordsTests {
    private static func notice(
        _ language: NoticeWords.Language, _ kind: NoticeKind, conflicts: [String] = [],
        _ change: (inout DomainStatus) -> Void = { _ in }
    ) -> Notice {
        let snapshot = DomainSnapshot(
            NoticeBoardTests.status(change), conflicts: conflicts.map(NoticeBoardTests.conflict))
        let causes = Causes(snapshot, large: 100 << 20)[kind]
        return NoticeWords(language) { _ in ["login", "work"] }
            .notice(NoticeKey(kind, NoticeBoardTests.mount), causes, snapshot)
    }

    @Test("one conflict names the document, and offers each version; several are counted and named")
    func conflicts() {
        let one = Self.notice(.english, .conflict, conflicts: ["report.odt"])
        #expect(one.title == "Two versions of “report.odt”")
        #expect(one.body == "it was changed on both sides\nIn /home/ada/Work")
        #expect(one.buttons.map(\.action) == [.compare, .keepMine, .keepTheirs, .keepBoth])
        #expect(one.commands == ["hydrant resolve /home/ada/Work/report.odt --keep mine|theirs|both"])
        let german = Self.notice(.german, .conflict, conflicts: (1...12).map { "doc\($0)" })
        #expect(german.title == "12 Dokumente haben zwei Fassungen")
        #expect(german.body == "“doc1”, “doc2”, “doc3” und 9 weitere")
        #expect(german.buttons.map(\.action) == [.show, .keepBoth])
    }

    @Test("control characters and marks of direction in names and reasons are shown, not obeyed")
    func hostileNames() {
        let notice = Self.notice(.english, .conflict, conflicts: ["a\u{1b}[2J\u{202e}\nb"])
        let all = notice.title + notice.body + notice.commands.joined()
        #expect(!all.unicodeScalars.contains { $0 == "\u{1b}" || $0 == "\u{202e}" })
        #expect(!notice.title.contains("\n"))
        let long = Self.notice(.english, .conflict, conflicts: [String(repeating: "x", count: 5_000)])
        #expect(long.title.count < 120)
    }

    @Test("a command's path is quoted for a shell")
    func quoting() {
        let notice = Self.notice(.english, .conflict, conflicts: ["it's $HOME.txt"])
        #expect(notice.commands == ["hydrant resolve '/home/ada/Work/it'\\''s $HOME.txt' --keep mine|theirs|both"])
    }

    @Test("signing in, and held deletions")
    func others() {
        let signIn = Self.notice(.german, .signIn) {
            $0.connection = ConnectionStatus(isOnline: false, needsSignIn: true)
        }
        #expect(signIn.title == "Bei Work anmelden" && signIn.commands == ["hydrant login work"])
        let held = Self.notice(.english, .heldDeletions) {
            $0.heldDeletions = HeldDeletionsStatus(items: 41, incomplete: 20, since: 0)
        }
        #expect(held.title == "Work: the store has deleted 41 items" && held.body.contains("20 of them"))
        #expect(held.commands == ["hydrant resolve --keep theirs|mine /home/ada/Work"])
    }

    @Test(
        "the language, as gettext(3) chooses",
        arguments: [
            ([:], false), (["LANG": "de_DE.UTF-8"], true), (["LANG": "de_DE.UTF-8", "LC_ALL": "C"], false),
            (["LANG": "en_GB.UTF-8", "LANGUAGE": "fr:de:en"], true), (["LANG": "C.UTF-8", "LANGUAGE": "de"], false),
            (["LANG": "de_AT", "LC_MESSAGES": "en_US.UTF-8"], false), (["LANG": "de", "LC_ALL": ""], true),
        ] as [([String: String], Bool)])
    func language(_ environment: [String: String], _ isGerman: Bool) {
        #expect((NoticeWords.language(of: environment) == .german) == isGerman)
    }
}

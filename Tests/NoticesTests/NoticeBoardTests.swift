import ControlAPI
import Notices
import Testing

/// Which notices there are, as values.
@Suite("Notices: which, and when")
struct NoticeBoardTests {
    static let mount = "/home/ada/Work"

    static func status(_ change: (inout DomainStatus) -> Void = { _ in }) -> DomainStatus {
        var status = DomainStatus(
            domain: "work", provider: "dir:/store", mountPoint: mount, pid: 1, passthrough: false,
            disk: DiskUse(here: 0, free: 100 << 30, minimumFree: 1 << 30), title: "Work")
        change(&status)
        return status
    }

    static func conflict(_ name: String) -> ConflictStatus {
        ConflictStatus(
            original: "\(mount)/\(name)", copy: "\(mount)/\(name) (conflicted copy)", moment: 0, reason: "bothChanged",
            explanation: "it was changed on both sides")
    }

    static func causes(
        conflicts: [String] = [], wasFull: Bool = false, _ change: (inout DomainStatus) -> Void = { _ in }
    )
        -> Causes
    {
        Causes(
            DomainSnapshot(status(change), conflicts: conflicts.map(conflict)), large: 100 << 20, wasFull: wasFull)
    }

    static let key = NoticeKey(.conflict, mount)

    /// The kinds and the numbers of causes that are shown.
    private static func shown(_ effects: [NoticeBoard.Effect]) -> [String] {
        effects.map { effect in
            switch effect {
            case .show(let key, let causes): "show \(key.kind) \(causes.count)"
            case .close(let key): "close \(key.kind)"
            }
        }
    }

    @Test("what comes within two seconds is one notice; later ones change it in place; the last one's end closes it")
    func gathered() {
        var board = NoticeBoard()
        #expect(board.update(Self.mount, Self.causes(conflicts: ["a"]), at: .seconds(10)).isEmpty)
        #expect(board.update(Self.mount, Self.causes(conflicts: ["a", "b"]), at: .seconds(11)).isEmpty)
        #expect(board.nextDue == .seconds(12))
        #expect(Self.shown(board.tick(at: .seconds(12))) == ["show conflict 2"])
        #expect(board.nextDue == nil)
        #expect(board.update(Self.mount, Self.causes(conflicts: ["a", "b", "c"]), at: .seconds(20)).isEmpty)
        #expect(board.tick(at: .seconds(21)).isEmpty)
        #expect(Self.shown(board.tick(at: .seconds(22))) == ["show conflict 3"])
        // Fewer: at once.
        #expect(
            Self.shown(board.update(Self.mount, Self.causes(conflicts: ["c"]), at: .seconds(23))) == ["show conflict 1"]
        )
        #expect(board.update(Self.mount, Self.causes(conflicts: ["c"]), at: .seconds(24)).isEmpty)
        #expect(Self.shown(board.update(Self.mount, Self.causes(), at: .seconds(25))) == ["close conflict"])
        #expect(board.nextDue == nil && board.shown.isEmpty)
    }

    @Test(
        "what mends itself has no notice: a cause that is gone before its time, a store that does not answer, a try that comes"
    )
    func mended() {
        var board = NoticeBoard()
        _ = board.update(Self.mount, Self.causes(conflicts: ["a"]), at: .zero)
        #expect(board.update(Self.mount, Self.causes(), at: .seconds(1)).isEmpty)
        #expect(board.tick(at: .seconds(60)).isEmpty)
        let offline = Self.causes {
            $0.connection = ConnectionStatus(isOnline: false, since: 0, reason: "no route to host")
            $0.pending = [PendingChange(path: "\(Self.mount)/a", what: "upload", error: "no answer", nextTry: 5)]
        }
        #expect(board.update(Self.mount, offline, at: .seconds(61)).isEmpty && board.nextDue == nil)
    }

    @Test("put away, a notice comes back only with something new")
    func putAway() {
        var board = NoticeBoard()
        _ = board.update(Self.mount, Self.causes(conflicts: ["a", "b"]), at: .zero)
        _ = board.tick(at: .seconds(2))
        board.putAway(Self.key)
        #expect(board.update(Self.mount, Self.causes(conflicts: ["a"]), at: .seconds(3)).isEmpty)
        #expect(board.tick(at: .seconds(60)).isEmpty && board.nextDue == nil)
        // Its end needs no closing.
        #expect(board.update(Self.mount, Self.causes(conflicts: ["a", "c"]), at: .seconds(61)).isEmpty)
        #expect(Self.shown(board.tick(at: .seconds(63))) == ["show conflict 2"])
        board.putAway(Self.key)
        #expect(board.update(Self.mount, Self.causes(), at: .seconds(64)).isEmpty)
        // What was solved and happens again is news.
        _ = board.update(Self.mount, Self.causes(conflicts: ["a"]), at: .seconds(70))
        #expect(Self.shown(board.tick(at: .seconds(72))) == ["show conflict 1"])
    }

    @Test("refused changes, held deletions, a password that is needed: each has a notice of its own")
    func kinds() {
        var board = NoticeBoard()
        let causes = Self.causes {
            $0.pending = [
                PendingChange(path: "\(Self.mount)/a", what: "upload", error: "no", remedy: "ask for the right"),
                PendingChange(path: "\(Self.mount)/b", what: "upload"),
            ]
            $0.heldDeletions = HeldDeletionsStatus(items: 41, incomplete: 20, since: 0)
            $0.connection = ConnectionStatus(isOnline: false, since: 0, needsSignIn: true)
        }
        _ = board.update(Self.mount, causes, at: .zero)
        #expect(
            Self.shown(board.tick(at: .seconds(2))) == ["show heldDeletions 1", "show refused 1", "show signIn 1"])
        #expect(board.needs(Self.mount) == 3)
        // Another domain's are its own.
        _ = board.update("/other", Self.causes(conflicts: ["a"]), at: .seconds(3))
        #expect(Self.shown(board.tick(at: .seconds(5))) == ["show conflict 1"])
        #expect(board.needs(Self.mount) == 3 && board.needs("/other") == 1)
    }

    @Test("a full disk: only when evictions have not helped for a while, and until there is twice the room")
    func full() {
        var board = NoticeBoard()
        func full(_ mebibytes: Int64, was: Bool) -> Causes {
            Self.causes(wasFull: was) { $0.disk.free = mebibytes << 20 }
        }
        _ = board.update(Self.mount, full(15, was: false), at: .zero)
        #expect(board.tick(at: .seconds(14)).isEmpty)
        #expect(Self.shown(board.tick(at: .seconds(15))) == ["show diskFull 1"])
        #expect(Self.shown(board.update(Self.mount, full(20, was: true), at: .seconds(16))) == ["show diskFull 1"])
        #expect(Self.shown(board.update(Self.mount, full(33, was: true), at: .seconds(17))) == ["close diskFull"])
        #expect(board.update(Self.mount, full(20, was: false), at: .seconds(18)).isEmpty && board.nextDue == nil)
    }

    @Test("a large download has its progress; small ones and uploads have no notice")
    func downloads() {
        var board = NoticeBoard()
        func running(_ bytes: Int64) -> Causes {
            Self.causes {
                $0.transfers = [
                    RunningTransfer(
                        direction: .download, path: "\(Self.mount)/film", bytes: bytes, total: 1 << 30, started: 0),
                    RunningTransfer(
                        direction: .download, path: "\(Self.mount)/note", bytes: 0, total: 1_000, started: 0),
                    RunningTransfer(direction: .upload, path: "\(Self.mount)/up", bytes: 0, total: 1 << 30, started: 0),
                ]
            }
        }
        _ = board.update(Self.mount, running(0), at: .zero)
        #expect(Self.shown(board.tick(at: .seconds(3))) == ["show download 1"])
        #expect(Self.shown(board.update(Self.mount, running(1 << 29), at: .seconds(4))) == ["show download 1"])
        #expect(board.needs(Self.mount) == 0)
        #expect(Self.shown(board.update(Self.mount, Self.causes(), at: .seconds(5))) == ["close download"])
    }
}

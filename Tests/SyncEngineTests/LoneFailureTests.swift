import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import Testing
import Trees

@testable import SyncEngine

/// One question that fails as if the store were away, while the store answers all others.
@Suite(.timeLimit(.minutes(5))) struct LoneFailureTests {
    private let test: TestEngine

    /// The first wait after a failure is 50 ms.
    init() throws { test = try TestEngine() }

    @Test("a change that alone fails is sent with growing pauses, and does not hold back other changes")
    func upload() async throws {
        try test.remote.put("a", "old")
        try await test.engine.enumerate(.root)
        test.engine.start()
        test.plan.fail(.itemChanged, times: 10_000, with: .serverUnreachable)
        let start = ContinuousClock.now
        try test.write(try test.inode("a").id, "new")
        #expect(try await eventually { test.plan.attempts(of: .itemChanged) >= 3 })
        try test.save("b", "text")
        #expect(try await eventually { test.remote.snapshot()["b"] == .document(Array("text".utf8)) })
        #expect(try await eventually { test.plan.attempts(of: .itemChanged) >= 9 })
        // The pauses double from 50 ms. (That it is alone may be seen some attempts later.)
        #expect(start.duration(to: .now) >= .milliseconds(900))
        test.plan.clear()
        #expect(try await eventually { try test.pending().isEmpty })
        #expect(test.remote.read("a") == Array("new".utf8))
    }

    @Test("a change that waits for the store is sent as soon as the store is back, after any time")
    func outage() async throws {
        try test.remote.put("a", "old")
        try await test.engine.enumerate(.root)
        test.engine.start()
        test.plan.isOffline = true
        try test.write(try test.inode("a").id, "new")
        #expect(try await eventually { test.plan.attempts(of: .itemChanged) >= 1 })
        // As after hours of that.
        let id = try test.item("a").id
        #expect(try await eventually { try test.item("a").failure != nil })
        try await Task.sleep(for: .milliseconds(100))
        try test.catalog.write {
            try $0.recordFailure(
                id, code: "serverUnreachable", message: "away", retryAt: FileTime.now.adding(seconds: 3_600))
        }
        test.plan.isOffline = false
        #expect(try await eventually { test.remote.read("a") == Array("new".utf8) })
    }

    @Test("a folder is listed with growing pauses when only its listing fails") func listing() async throws {
        try test.remote.put("a", "A")
        try await test.engine.enumerate(.root)
        test.engine.start()
        #expect(try await eventually { test.remote.signalListenerCount == 1 })
        #expect(try await eventually { test.plan.attempts(of: .enumerateItems) >= 2 })
        let before = test.plan.attempts(of: .enumerateItems)
        test.plan.fail(.enumerateItems, times: 10_000, with: .serverUnreachable)
        let start = ContinuousClock.now
        try test.remote.put("b", "B")
        #expect(try await eventually { test.plan.attempts(of: .enumerateItems) >= before + 9 })
        #expect(start.duration(to: .now) >= .milliseconds(900))
        test.plan.clear()
        #expect(try await eventually { try test.names() == ["a", "b"] })
    }

    @Test func ofAChangeThatFailsItIsKnownHowOftenItFailedAlone() {
        let failures = LoneFailures()
        let (a, b) = (ItemID(rawValue: 1), ItemID(rawValue: 2))
        // The store is away: that tells nothing of a change.
        for item in [a, a, b] { #expect(failures.failed(item) == 0) }
        #expect(failures.storeReturned(wasAway: false).isEmpty)
        for _ in 0..<2 { #expect(failures.failed(a) == 1) }
        #expect(failures.storeReturned(wasAway: false) == [a: 1])
        #expect(failures.failed(a) == 2)
        failures.ended(a)
        #expect(failures.failed(a) == 0)
    }

    @Test func onANetworkThatComesAndGoesNoChangeFailsAlone() {
        let failures = LoneFailures()
        let (long, refused) = (ItemID(rawValue: 1), ItemID(rawValue: 2))
        failures.failed(refused)
        #expect(failures.storeReturned(wasAway: false).isEmpty)
        #expect(failures.failed(refused) == 1)
        #expect(failures.storeReturned(wasAway: false) == [refused: 1])
        for _ in 0..<5 {
            #expect(failures.failed(long) == 0)
            // The other one goes on waiting.
            #expect(failures.storeReturned(wasAway: true) == [refused: 1])
        }
        #expect(failures.failed(refused) == 2)
    }

    @Test func theStoreWasAwayIfALookForItFailedToo() {
        let connection = StoreConnection()
        let failure = FileProviderError(.serverUnreachable, "closed the connection")
        let asked = ContinuousClock.now
        #expect(connection.failed(failure, asked: asked))
        #expect(connection.answered() && !connection.wasAway)
        #expect(connection.failed(failure, asked: asked))
        connection.isNotBack(asked: asked)
        #expect(connection.answered() && connection.wasAway)
        #expect(connection.failed(failure, asked: asked))
        #expect(!connection.wasAway)
    }
}

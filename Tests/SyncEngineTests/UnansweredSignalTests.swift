import FileProvider
import FileProviderTesting
import Foundation
import Testing
import Trees

@testable import SyncEngine

/// A signal that comes while the store does not answer is not lost: what it names is asked for again.
@Suite(.timeLimit(.minutes(10))) struct UnansweredSignalTests {
    private let test: TestEngine

    init() throws { test = try TestEngine() }

    private func start() async throws {
        try await test.engine.enumerate(.root)
        test.engine.start()
        #expect(try await eventually { test.remote.signalListenerCount == 1 })
        // The look after the mount is over: only signals tell from now on.
        #expect(try await eventually { test.plan.attempts(of: .enumerateItems) >= 2 })
        try await Task.sleep(for: .milliseconds(50))
    }

    private var attempts: Int { Hook.allCases.reduce(0) { $0 + test.plan.attempts(of: $1) } }

    @Test func ofAnItem() async throws {
        try test.remote.put("a", "A")
        try await start()
        test.plan.isOffline = true
        try test.remote.put("a", "newer")
        #expect(try await eventually { test.plan.attempts(of: .providePlaceholder) >= 1 })
        test.plan.isOffline = false
        #expect(try await eventually { try test.inode("a").size == 5 })
    }

    @Test func ofAFolder() async throws {
        try test.remote.put("a", "A")
        try await start()
        let before = test.plan.attempts(of: .enumerateItems)
        test.plan.isOffline = true
        try test.remote.put("b", "B")
        #expect(try await eventually { test.plan.attempts(of: .enumerateItems) > before })
        test.plan.isOffline = false
        #expect(try await eventually { try test.names() == ["a", "b"] })
    }

    /// It is not in its folder's listing any more; whether it is gone, the store did not say.
    @Test func ofAnItemThatIsMissing() async throws {
        try test.remote.put("a", "A")
        try test.remote.put("b", "B")
        try await start()
        test.plan.fail(.providePlaceholder, with: .serverUnreachable)
        try test.remote.remove("b")
        #expect(try await eventually { try test.names() == ["a"] })
        #expect(test.plan.remainingFaults(for: .providePlaceholder) == 0)
    }

    /// As long as the store does not say that it is gone, it stays.
    @Test func whatNobodyKnowsOfStays() async throws {
        try test.remote.put("a", "A")
        try test.remote.put("b", "B")
        try await start()
        let before = test.plan.attempts(of: .providePlaceholder)
        test.plan.fail(.providePlaceholder, times: 10_000, with: .serverUnreachable)
        try test.remote.remove("b")
        // Asked again: the first answer has been taken.
        _ = try await eventually {
            try test.plan.attempts(of: .providePlaceholder) >= before + 2 || test.names() != ["a", "b"]
        }
        #expect(try test.names() == ["a", "b"])
        test.plan.clear()
        #expect(try await eventually { try test.names() == ["a"] })
    }

    @Test func afterTheMount() async throws {
        try test.remote.put("a", "A")
        try await test.engine.enumerate(.root)
        try test.remote.put("b", "B")
        test.plan.isOffline = true
        let before = attempts
        test.engine.start()
        #expect(try await eventually { attempts > before })
        test.plan.isOffline = false
        #expect(try await eventually { try test.names() == ["a", "b"] })
    }

    @Test func ofAnotherErrorThatPasses() async throws {
        try test.remote.put("a", "A")
        try await start()
        test.plan.fail(.providePlaceholder, times: 2, with: .cannotSynchronize)
        try test.remote.put("a", "newer")
        #expect(try await eventually { try test.inode("a").size == 5 })
    }

    /// The move is confirmed with what the store has now: nothing more need be asked.
    @Test func aMoveTellsOfNewContents() async throws {
        try test.remote.put("a", "A")
        try await start()
        test.plan.isOffline = true
        try test.rename("a", "b")
        try test.remote.put("a", "newer")
        #expect(try await eventually { test.plan.attempts(of: .providePlaceholder) >= 1 })
        test.plan.fail(.providePlaceholder, times: 1_000, with: .permissionDenied)
        test.plan.isOffline = false
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(try await eventually { try test.inode("b").size == 5 })
    }
}

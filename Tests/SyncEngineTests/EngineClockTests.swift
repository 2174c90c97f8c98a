import ContentStore
import FileProvider
import FileProviderTesting
import ItemCatalog
import Synchronization
import Testing
import Trees

@testable import SyncEngine

/// The engine's long waits, on a clock that the test advances.
@Suite(.timeLimit(.minutes(5))) struct EngineClockTests {
    private let clock = ManualClock()

    /// Runs until `isOver`: the clock goes on by a tenth of a second whenever it has not come about yet.
    ///
    /// - Returns: how much time of the clock that took.
    private func advance(until isOver: () throws -> Bool) async throws -> Duration {
        let begin = clock.elapsed
        while try !isOver() {
            try #require(clock.elapsed - begin < .seconds(3_600), "an hour of the clock is not enough")
            clock.advance(by: .milliseconds(100))
            try await Task.sleep(for: .milliseconds(1))
        }
        return clock.elapsed - begin
    }

    @Test("a change that fails is tried again after pauses that double up to five minutes") func retries() async throws
    {
        let test = try TestEngine(firstRetry: 1, clock: clock)
        try test.remote.put("a", "old")
        try await test.engine.enumerate(.root)
        test.engine.start()
        test.plan.fail(.itemChanged, times: 10_000, with: .cannotSynchronize)
        try test.write(try test.inode("a").id, "new")
        for (number, expected) in [1.0, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].enumerated() {
            #expect(try await eventually { try test.item("a").failure?.attempts == Int64(number + 1) })
            #expect(test.plan.attempts(of: .itemChanged) == number + 1)
            let retryAt = try #require(try test.item("a").failure?.retryAt)
            let wait = Double(retryAt.nanoseconds - clock.date.nanoseconds) / 1e9
            #expect(abs(wait - expected) < 0.001)
            clock.advance(by: .seconds(expected) - .milliseconds(1))
            #expect(test.plan.attempts(of: .itemChanged) == number + 1)
            clock.advance(by: .milliseconds(20))
        }
        test.plan.clear()
        _ = try await advance { try test.pending().isEmpty }
        #expect(test.remote.read("a") == Array("new".utf8))
        await test.engine.stop()
    }

    @Test("the provider learns a minute after the last close that a document is no longer in use")
    func stopProviding() async throws {
        let test = try TestEngine(stopProviding: 60, clock: clock)
        try test.remote.put("a", "text")
        try await test.engine.enumerate(.root)
        let inode = try test.inode("a")
        _ = try await test.engine.download(inode.id)
        let generation = GenerationID(inode: inode.id.rawValue, number: inode.generation)
        test.engine.released(inode.id, generation)
        #expect(try await eventually { clock.isSleeping(until: clock.awake + .seconds(60)) })
        clock.advance(by: .seconds(59))
        #expect(test.remote.calls(of: .stopProvidingItem).isEmpty)
        clock.advance(by: .seconds(1))
        #expect(try await eventually { test.remote.calls(of: .stopProvidingItem).count == 1 })
        await test.engine.stop()
    }

    @Test("a read of which no byte comes fails after the time-out, and not before") func readTimeout() async throws {
        let test = try TestEngine(readTimeout: 30, clock: clock)
        try test.remote.put("a", "text")
        try await test.engine.enumerate(.root)
        let gate = Gate()
        test.plan.inject(.hang(gate), into: .startProvidingItem)
        let inode = try test.inode("a").id
        let end = Mutex<(any Error)?>(nil)
        let read = Task {
            do { _ = try await test.engine.download(inode) } catch { end.withLock { $0 = error } }
        }
        #expect(try await eventually { test.plan.attempts(of: .startProvidingItem) == 1 })
        let waited = try await advance { end.withLock { $0 != nil } }
        #expect(waited >= .seconds(29))
        guard case .timedOut? = end.withLock({ $0 }) as? SyncError else {
            Issue.record("it ended otherwise: \(end.withLock { $0.map { "\($0)" } ?? "not" })")
            return
        }
        gate.open()
        await read.value
        await test.engine.stop()
    }
}

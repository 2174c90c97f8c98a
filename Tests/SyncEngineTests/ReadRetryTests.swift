import ContentStore
import FileProvider
import FileProviderTesting
import Testing
import Trees

@testable import SyncEngine

/// How often and for how long a read is asked of the store, by what fails.
@Suite struct ReadRetryTests {
    private static let dropped = {
        var error = FileProviderError(.serverUnreachable, "refused")
        error.isTransient = true
        return error
    }()

    /// Seconds of each pause until the read has failed for good, where each failure comes at once.
    private func pauses(_ errors: [FileProviderError], isAway: Bool = false) -> [Double] {
        let policy = ReadRetryPolicy()
        var failures = ReadRetryPolicy.Failures()
        var now = ContinuousClock.now
        var pauses: [Double] = []
        for index in 0..<1_000 {
            guard
                let pause = policy.pause(
                    after: errors[min(index, errors.count - 1)], &failures, isAway: isAway, at: now)
            else { return pauses }
            pauses.append(pause)
            now += .seconds(pause)
        }
        Issue.record("it never fails")
        return pauses
    }

    @Test("a read waits up to ten seconds for a store that restarts") func transient() {
        let pauses = pauses([Self.dropped])
        #expect(pauses.prefix(6) == [0.1, 0.2, 0.4, 0.8, 1, 1])
        #expect((9...10).contains(pauses.reduce(0, +)))
        #expect(self.pauses([Self.dropped], isAway: true) == [])
    }

    @Test("a temporary error is tried four times in all, within about a second") func others() {
        for code in [FileProviderError.Code.cannotSynchronize, .busy] {
            #expect(pauses([FileProviderError(code, "")]) == [0.3, 0.3, 0.3])
        }
        // A server that comes up refuses first, and then fails.
        #expect(pauses([Self.dropped, Self.dropped, FileProviderError(.busy, "")]) == [0.1, 0.2, 0.3, 0.3, 0.3])
    }

    @Test("other errors are not tried again") func never() {
        for code in FileProviderError.Code.allCases where code != .cannotSynchronize && code != .busy {
            #expect(pauses([FileProviderError(code, "")]) == [])
        }
    }

    private func prepared() async throws -> TestEngine {
        let test = try TestEngine()
        try test.remote.put("a", [UInt8](repeating: 7, count: 200_000))
        try await test.engine.enumerate(.root)
        return test
    }

    @Test("a read continues after the bytes it has, and each new byte resets the count") func progress() async throws {
        let test = try await prepared()
        test.plan.inject(
            .truncatedDownload(after: 10_000, error: FileProviderError(.cannotSynchronize, "broke off")),
            into: .startProvidingItem, times: 9)
        let (content, target) = try test.download("a")
        try await test.engine.downloader.provide(0..<200_000, of: content, for: target)
        #expect(content.isComplete)
        #expect(test.plan.attempts(of: .startProvidingItem) == 10)
        #expect(test.remote.calls(of: .startProvidingItem).last?.range == 90_000..<200_000)
    }

    @Test("during retries the store does not count as away, and no event is reported") func quiet()
        async throws
    {
        let test = try await prepared()
        test.plan.inject(.error(Self.dropped), into: .startProvidingItem, times: 3)
        let (content, target) = try test.download("a")
        try await test.engine.downloader.provide(0..<10, of: content, for: target)
        #expect(test.plan.attempts(of: .startProvidingItem) == 4)
        #expect(test.engine.client.connection.failure == nil)
        func events() -> [SyncEvent] {
            test.engine.reports.log.listen(last: .max).now(most: .max >> 1).events
                .filter { $0.kind == .startProvidingItem || $0.kind == .offline }
        }
        #expect(try await eventually { !events().isEmpty })
        #expect(events().map(\.code) == [nil])
    }

    @Test("a cancelled read stops waiting") func cancelled() async throws {
        let test = try await prepared()
        test.plan.inject(.error(Self.dropped), into: .startProvidingItem, times: 1_000)
        let (content, target) = try test.download("a")
        let read = Task { try await test.engine.downloader.provide(0..<10, of: content, for: target) }
        #expect(try await eventually { test.plan.attempts(of: .startProvidingItem) >= 2 })
        read.cancel()
        await #expect(throws: SyncError.self) { try await read.value }
        #expect(try await eventually { test.engine.transfers.now().isEmpty })
    }
}

import ContentStore
import FileProvider
import FileProviderTesting
import MountHarness
import Synchronization
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

    private static let contents = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 251) }

    private func read(_ content: ContentFile) throws -> [UInt8] {
        var found = [UInt8](repeating: 0, count: Self.contents.count)
        _ = try found.withUnsafeMutableBytes { try content.read(into: $0, at: 0) }
        return found
    }

    private func spoiled(_ errors: [FileProviderError]) async throws -> TestEngine {
        let test = try TestEngine(through: { Spoiling(base: $0.base, errors: errors) })
        try test.remote.put("a", Self.contents)
        try await test.engine.enumerate(.root)
        return test
    }

    @Test("bytes that the provider finds wrong at its end are read again, all of them") func damaged() async throws {
        let wrong = FileProviderError(.cannotSynchronize, "the checksum is wrong")
        let test = try await spoiled([wrong, wrong])
        let (content, target) = try test.download("a")
        try await test.engine.downloader.provide(0..<Int64(Self.contents.count), of: content, for: target)
        let isRight = try read(content) == Self.contents
        #expect(isRight)
        #expect(test.remote.calls(of: .startProvidingItem).map(\.range) == Array(repeating: 0..<50_000, count: 3))
    }

    @Test("bytes that stay wrong are no contents: nothing of them is kept") func damagedForGood() async throws {
        let wrong = FileProviderError(.cannotSynchronize, "the checksum is wrong")
        let test = try await spoiled(Array(repeating: wrong, count: 4))
        let (content, target) = try test.download("a")
        await #expect(throws: SyncError.self) {
            try await test.engine.downloader.provide(0..<Int64(Self.contents.count), of: content, for: target)
        }
        #expect(content.bytesPresent == 0)
        test.engine.makeDownloadsDurable()
        #expect(try test.inode("a").extents == RangeSet())
        try await test.engine.downloader.provide(0..<Int64(Self.contents.count), of: content, for: target)
        let isRight = try read(content) == Self.contents
        #expect(isRight)
    }

    @Test("what a program has written meanwhile stays") func written() async throws {
        let test = try await spoiled([FileProviderError(.cannotSynchronize, "the checksum is wrong")])
        let (content, target) = try test.download("a")
        _ = try [UInt8](repeating: 1, count: 100).withUnsafeBytes { try content.write($0, at: 4_000) }
        try await test.engine.downloader.provide(0..<Int64(Self.contents.count), of: content, for: target)
        let expected = Self.contents[..<4_000] + [UInt8](repeating: 1, count: 100) + Self.contents[4_100...]
        let isRight = try read(content) == Array(expected)
        #expect(isRight)
    }

    @Test("a connection that breaks after the last byte brings only the last piece again") func brokenAtTheEnd()
        async throws
    {
        let test = try await prepared()
        test.plan.inject(.lostReply, into: .startProvidingItem)
        let (content, target) = try test.download("a")
        _ = try? await test.engine.downloader.provide(0..<200_000, of: content, for: target)
        #expect(content.bytesPresent >= 200_000 - 4_096)
        try await test.engine.downloader.provide(0..<200_000, of: content, for: target)
        #expect(test.remote.calls(of: .startProvidingItem).map(\.range) == [0..<200_000, 196_608..<200_000])
    }
}

/// Finds out at its end, some times, that what it has sent is damaged.
private final class Spoiling: ForwardingProvider {
    let base: InMemoryProvider
    private let errors: Mutex<[FileProviderError]>

    init(base: InMemoryProvider, errors: [FileProviderError]) {
        self.base = base
        self.errors = Mutex(errors)
    }

    func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(FileProviderError) {
        guard let error = errors.withLock({ $0.popLast() }) else {
            return try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
        }
        try await base.startProvidingItem(identifier, version: version, range: range, into: Spoiled(base: sink))
        throw error
    }

    private struct Spoiled: ContentSink {
        let base: any ContentSink
        func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
            try await base.write(bytes.map { $0 ^ 0x55 }, at: offset)
        }
    }
}

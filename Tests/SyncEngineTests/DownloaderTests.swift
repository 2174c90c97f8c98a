import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import Testing
import Trees

@testable import SyncEngine

@Suite(.timeLimit(.minutes(10))) struct DownloaderTests {
    private let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 251) }

    private func prepared(readTimeout: Double = 5) async throws -> TestEngine {
        let test = try TestEngine(readTimeout: readTimeout)
        try test.remote.put("a", bytes)
        try await test.engine.enumerate(.root)
        return test
    }

    private func error(_ body: () async throws -> Void) async -> SyncError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? SyncError
        }
    }

    private func read(_ content: ContentFile, _ range: Range<Int64>) throws -> [UInt8] {
        var found = [UInt8](repeating: 0, count: Int(range.upperBound - range.lowerBound))
        _ = try found.withUnsafeMutableBytes { try content.read(into: $0, at: range.lowerBound) }
        return found
    }

    private func provide(_ range: Range<Int64>, _ test: TestEngine) async throws {
        let (content, target) = try test.download("a")
        try await test.engine.downloader.provide(range, of: content, for: target)
    }

    @Test func twoReadersShareOneCall() async throws {
        let test = try await prepared()
        let gate = Gate()
        test.plan.inject(.hang(gate), into: .startProvidingItem)
        let (content, target) = try test.download("a")
        async let first: Void = test.engine.downloader.provide(0..<100, of: content, for: target)
        await gate.waitForArrivals()
        async let second: Void = test.engine.downloader.provide(0..<200_000, of: content, for: target)
        gate.open()
        try await first
        try await second
        #expect(test.plan.attempts(of: .startProvidingItem) == 1)
        #expect(content.isComplete)
        #expect(try read(content, 0..<200_000) == bytes)
    }

    @Test func theFirstBytesAreThereBeforeTheLast() async throws {
        let test = try await prepared()
        test.plan.bandwidth = 20_000
        let (content, target) = try test.download("a")
        try await test.engine.downloader.provide(0..<4_096, of: content, for: target)
        #expect(!content.isComplete)
        #expect(try read(content, 0..<4_096) == Array(bytes[..<4_096]))
    }

    @Test func aReaderFarAheadDoesNotWaitForWhatIsBefore() async throws {
        let test = try TestEngine()
        let size = Int64(DownloadPlan.window) + 100_000
        try test.remote.put("a", [UInt8](repeating: 7, count: Int(size)))
        try await test.engine.enumerate(.root)
        let gate = Gate()
        test.plan.inject(.hang(gate), into: .startProvidingItem)
        let (content, target) = try test.download("a")
        let first = Task { try await test.engine.downloader.provide(0..<10, of: content, for: target) }
        await gate.waitForArrivals()
        try await test.engine.downloader.provide(size - 10..<size, of: content, for: target)
        #expect(content.missing(in: 0..<10) == [0..<10])
        gate.open()
        try await first.value
        #expect(test.remote.calls(of: .startProvidingItem).allSatisfy { $0.range.map { !$0.isEmpty } == true })
    }

    @Test func aCancelledWaiterGoesAndTheDownloadWithIt() async throws {
        let test = try await prepared()
        let gate = Gate()
        test.plan.inject(.hang(gate), into: .startProvidingItem)
        let task = Task { try await provide(0..<10, test) }
        await gate.waitForArrivals()
        task.cancel()
        guard case .cancelled = await error({ try await task.value }) else {
            Issue.record("not cancelled")
            return
        }
        #expect(try await eventually { gate.waitingCount == 0 })
        // The next one asks anew.
        try await provide(0..<10, test)
    }

    @Test func oneCancelledWaiterDoesNotTakeTheOtherAlong() async throws {
        let test = try await prepared()
        let gate = Gate()
        test.plan.inject(.hang(gate), into: .startProvidingItem)
        let (content, target) = try test.download("a")
        let first = Task { try await test.engine.downloader.provide(0..<10, of: content, for: target) }
        await gate.waitForArrivals()
        let second = Task { try await test.engine.downloader.provide(0..<20, of: content, for: target) }
        // The second must have joined before the first goes.
        await Task.yield()
        first.cancel()
        _ = await error { try await first.value }
        gate.open()
        try await second.value
        #expect(content.missing(in: 0..<20).isEmpty)
    }

    @Test func aSilentProviderTimesOut() async throws {
        let test = try await prepared(readTimeout: 0.2)
        let gate = Gate()
        test.plan.inject(.hang(gate), into: .startProvidingItem)
        guard case .timedOut(let what) = await error({ try await provide(0..<10, test) }) else {
            Issue.record("no time-out")
            return
        }
        #expect(what == "a")
        try await provide(0..<10, test)
    }

    @Test func aShortAnswerIsNotBelieved() async throws {
        let test = try await prepared()
        test.plan.inject(.truncatedDownload(after: 10_000, error: nil), into: .startProvidingItem)
        let (content, target) = try test.download("a")
        let failure = await error {
            try await test.engine.downloader.provide(0..<200_000, of: content, for: target)
        }
        guard case .untrusted(let message) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(message.contains("a: "))
        #expect(!content.isComplete)
        #expect(content.bytesPresent == 10_000)
        // What came is kept, and asked for no more.
        try await test.engine.downloader.provide(0..<200_000, of: content, for: target)
        #expect(test.remote.calls(of: .startProvidingItem).last?.range == 10_000..<200_000)
        #expect(try read(content, 0..<200_000) == bytes)
    }

    @Test func bytesThatNobodyAskedForAreRefused() async throws {
        let test = try await prepared()
        test.plan.inject(.surplusBytes(100), into: .startProvidingItem)
        let (content, target) = try test.download("a")
        // The first part is a program's: nothing may be written there or past the end.
        _ = await error { try await test.engine.downloader.provide(0..<200_000, of: content, for: target) }
        try await test.engine.downloader.provide(0..<200_000, of: content, for: target)
        #expect(try read(content, 0..<200_000) == bytes)
        #expect(try content.status().size == 200_000)
    }

    /// A stream ends where another one is: what comes behind its end is not the document's.
    @Test func bytesBehindTheEndOfAStreamAreRefused() async throws {
        let test = try await prepared()
        let gate = Gate()
        test.plan.inject(.hang(gate), into: .startProvidingItem)
        let (content, target) = try test.download("a")
        async let far: Void = test.engine.downloader.provide(150_000..<150_100, of: content, for: target)
        await gate.waitForArrivals()
        test.plan.inject(.surplusBytes(100), into: .startProvidingItem)
        _ = await error { try await test.engine.downloader.provide(0..<150_000, of: content, for: target) }
        #expect(try await eventually { test.plan.remainingFaults(for: .startProvidingItem) == 0 })
        gate.open()
        try await far
        try await test.engine.downloader.provide(0..<200_000, of: content, for: target)
        #expect(try read(content, 0..<200_000) == bytes)
    }

    @Test func aVersionThatChangedMeanwhileIsSuperseded() async throws {
        let test = try await prepared()
        test.plan.bandwidth = 40_000
        let (content, target) = try test.download("a")
        try await test.engine.downloader.provide(0..<4_096, of: content, for: target)
        let task = Task { try await test.engine.downloader.provide(0..<200_000, of: content, for: target) }
        try test.remote.put("a", "short")
        guard case .superseded = await error({ try await task.value }) else {
            Issue.record("bytes of two versions were mixed")
            return
        }
        let inode = try test.inode("a")
        #expect(inode.size == 5 && inode.generation == content.id.number + 1)
        #expect(test.volume.changes.contains(.contents(inode.id)))
        test.plan.clear()
        try await provide(0..<5, test)
    }

    @Test func offlineFailsAtOnce() async throws {
        let test = try await prepared()
        test.plan.isOffline = true
        guard case .provider(let failure) = await error({ try await provide(0..<10, test) }) else {
            Issue.record("no failure")
            return
        }
        #expect(failure.code == .serverUnreachable)
        // Not tried again while a program waits.
        #expect(test.plan.attempts(of: .startProvidingItem) == 1)
    }

    @Test func aPassingFailureIsTriedAgain() async throws {
        let test = try await prepared()
        test.plan.fail(.startProvidingItem, times: 2, with: .cannotSynchronize)
        try await provide(0..<10, test)
        #expect(test.plan.attempts(of: .startProvidingItem) == 3)
    }

    @Test func aFailureThatLastsIsReported() async throws {
        let test = try await prepared()
        test.plan.fail(.startProvidingItem, times: 100, with: .cannotSynchronize)
        guard case .provider(let failure) = await error({ try await provide(0..<10, test) }) else {
            Issue.record("it never fails")
            return
        }
        #expect(failure.code == .cannotSynchronize)
    }

    @Test func whatCameIsInTheCatalog() async throws {
        let test = try await prepared()
        test.plan.inject(
            .truncatedDownload(after: 8_192, error: FileProviderError(.permissionDenied, "no more")),
            into: .startProvidingItem)
        #expect(await error { try await provide(0..<200_000, test) } != nil)
        #expect(try await eventually { try test.inode("a").extents == RangeSet(0..<8_192) })
        try await provide(0..<200_000, test)
        #expect(try await eventually { try test.inode("a").extents == nil })
        // The file has the document's date: passthrough reads it there.
        #expect(
            try await eventually {
                try test.download("a").0.status().modified == (try test.inode("a")).modified.nanoseconds
            })
    }

    /// While a program has it open, the rest comes without being asked for.
    @Test func theRestFollowsWhileItIsOpen() async throws {
        let test = try await prepared()
        let (content, target) = try test.download("a")
        test.volume.setOpen(target.inode, true)
        try await test.engine.downloader.provide(150_000..<150_010, of: content, for: target)
        #expect(try await eventually { content.isComplete })
        #expect(try read(content, 0..<200_000) == bytes)
    }

    @Test func anItemThatIsGoneIsNoPlaceholderAnyMore() async throws {
        let test = try await prepared()
        try test.remote.remove("a")
        // Whoever waited looks the name up again, and finds nothing.
        guard case .superseded = await error({ try await provide(0..<10, test) }) else {
            Issue.record("no failure")
            return
        }
        #expect(try test.names() == [])
    }
}

import FileProvider
import FileProviderTesting
import ItemCatalog
import Synchronization
import Testing
import Trees

@testable import SyncEngine

/// No test here looks at the machine's clock: time goes by when everybody waits for it.
@Suite("Bandwidth limits", .timeLimit(.minutes(10))) struct BandwidthTests {
    private let clock = ManualClock()

    /// What one transfer has moved.
    private final class Count: Sendable {
        private let count = Mutex(Int64(0))
        var bytes: Int64 { count.withLock { $0 } }
        func add(_ bytes: Int) { count.withLock { $0 += Int64(bytes) } }
    }

    /// Moves bytes for as long as it may, in pieces of one size.
    private func move(
        _ limit: BandwidthLimit, _ transfer: UInt64, piece: Int, total: Int64 = .max
    ) -> (count: Count, task: Task<Void, any Error>) {
        let count = Count()
        let task = Task {
            while count.bytes < total {
                try await limit.take(piece, for: transfer)
                count.add(piece)
            }
        }
        return (count, task)
    }

    /// Lets time pass up to a moment, from one waking to the next. Whenever it stands still, so many movers wait.
    private func run(to end: Duration, _ limit: BandwidthLimit, movers: Int) async throws {
        while true {
            var yields = 0
            while limit.waitingCount != movers || limit.nextTurn.map({ !clock.isSleeping(until: $0) }) ?? true {
                yields += 1
                try #require(yields < 10_000_000, "it does not stand still")
                await Task.yield()
            }
            guard let next = clock.nextWake, next <= end else { break }
            clock.advance(to: next)
        }
        clock.advance(to: end)
    }

    @Test("the limit holds in each second, for any size of the pieces", arguments: [100, 1_000, 64_000])
    func rate(piece: Int) async throws {
        let limit = BandwidthLimit(clock: clock)
        limit.set(10_000)
        let (count, task) = move(limit, 1, piece: piece)
        for second in [1, 5, 20] {
            try await run(to: .seconds(second), limit, movers: 1)
            let expected = Int64(10_000 * second)
            // No more than the bucket holds, and the piece that is owed for, ahead; no more than a piece behind.
            #expect(count.bytes <= expected + 1_250 + Int64(piece))
            #expect(count.bytes >= expected - Int64(piece))
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(limit.waitingCount == 0)
    }

    @Test("transfers share equally, also when one requests much at a time and the other little")
    func fair() async throws {
        let limit = BandwidthLimit(clock: clock)
        limit.set(10_000)
        let large = move(limit, 1, piece: 8_000)
        let small = move(limit, 2, piece: 100)
        let (alone, other) = (large.count, small.count)
        try await run(to: .seconds(60), limit, movers: 2)
        #expect(abs(alone.bytes - other.bytes) <= 16_000)
        #expect(alone.bytes + other.bytes >= 600_000 - 8_000)
        // One of them alone has all of it.
        large.task.cancel()
        let before = other.bytes
        try await run(to: .seconds(70), limit, movers: 1)
        #expect(other.bytes - before >= 90_000)
        small.task.cancel()
    }

    @Test("a later transfer gets no credit for the time before it")
    func latecomer() async throws {
        let limit = BandwidthLimit(clock: clock)
        limit.set(10_000)
        let first = move(limit, 1, piece: 100)
        try await run(to: .seconds(10), limit, movers: 1)
        let before = first.count.bytes
        let second = move(limit, 2, piece: 100)
        try await run(to: .seconds(20), limit, movers: 2)
        #expect(abs((first.count.bytes - before) - second.count.bytes) <= 1_000)
        first.task.cancel()
        second.task.cancel()
    }

    @Test("a new limit holds at once, also for waiting transfers; no limit releases all")
    func change() async throws {
        let limit = BandwidthLimit(clock: clock)
        limit.set(1_024)
        let (count, task) = move(limit, 1, piece: 100_000, total: 300_000)
        try await run(to: .seconds(10), limit, movers: 1)
        #expect(count.bytes == 100_000)
        // At the old rate the next one would come after more than a minute.
        limit.set(100_000)
        try await run(to: .milliseconds(10_500), limit, movers: 1)
        #expect(count.bytes == 200_000)
        limit.set(nil)
        #expect(limit.rate == nil)
        try await task.value
        #expect(count.bytes == 300_000)
    }

    @Test("nothing waits without a limit, and a cancelled transfer ends at once")
    func cancel() async throws {
        let limit = BandwidthLimit(clock: clock)
        for _ in 0..<1_000 { try await limit.take(1 << 30, for: 1) }
        limit.set(1_024)
        try await limit.take(1 << 20, for: 1)
        let task = Task { try await limit.take(1, for: 2) }
        #expect(try await eventually { limit.waitingCount == 1 })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(limit.waitingCount == 0)
    }

    // MARK: In the engine

    @Test("a download proceeds at the limit, piece by piece, without a time-out")
    func download() async throws {
        let test = try TestEngine(readTimeout: 0.2, clock: clock)
        try test.remote.put("a", [UInt8](repeating: 7, count: 100_000))
        try await test.engine.enumerate(.root)
        let limit = test.engine.transfers.downloadLimit
        limit.set(10_240)
        let inode = try test.inode("a").id
        let task = Task { try await test.engine.download(inode) }
        #expect(try await eventually { limit.waitingCount == 1 })
        let transfer = try #require(test.engine.transfers.now().first)
        #expect(transfer.direction == .download && transfer.path == "a" && transfer.total == 100_000)
        // (Longer than the read time-out: the download waits for the limit, not for the provider.)
        try await run(to: .seconds(5), limit, movers: 1)
        #expect(abs(transfer.done - 51_200) < 3_000)
        try await run(to: .seconds(9), limit, movers: 1)
        limit.set(nil)
        #expect(try await task.value == 100_000)
        #expect(try await eventually { test.engine.transfers.now().isEmpty })
    }

    @Test("an upload proceeds at the limit too; the store gets it whole")
    func upload() async throws {
        let test = try TestEngine(clock: clock)
        try await test.engine.enumerate(.root)
        let limit = test.engine.transfers.uploadLimit
        limit.set(10_240)
        test.engine.start()
        let text = String(repeating: "0123456789", count: 10_000)
        try test.save("a", text)
        #expect(try await eventually { limit.waitingCount == 1 })
        let transfer = try #require(test.engine.transfers.now().first)
        #expect(transfer.direction == .upload && transfer.path == "a" && transfer.total == 100_000)
        try await run(to: .seconds(5), limit, movers: 1)
        #expect(try test.pending().count == 1)
        limit.set(nil)
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.read("a")?.count == 100_000)
        #expect(try await eventually { test.engine.transfers.now().isEmpty })
        await test.engine.stop()
    }
}

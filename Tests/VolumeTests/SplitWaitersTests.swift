import FileProvider
import Foundation
import Glibc
import ItemCatalog
import SyncEngine
import Synchronization
import Testing
import Trees

@testable import Volume

/// Waiting for the volume to be told that a writer's bytes were split from their document.
@Suite struct SplitWaitersTests {
    private static let replaced = CatalogError(.replaced, "the document was replaced")

    /// How many attempts were made until `waiters` were told, or gave up.
    private static func attempts(_ waiters: SplitWaiters, until isMade: @escaping (Int) -> Bool) throws -> Int {
        var count = 0
        let result = try waiters.wait { () throws(VolumeError) -> Attempt<Int> in
            count += 1
            return isMade(count) ? .made(count) : .unpublished(replaced)
        }
        guard case .made(let made) = result else { throw replaced }
        return made
    }

    @Test func itIsAttemptedAgainOnlyWhenTheVolumeWasTold() async throws {
        let waiters = SplitWaiters(seconds: 60)
        let isDone = Atomic(false)
        let attempts = Atomic(0)
        async let made: Void = onThread {
            _ = try Self.attempts(waiters) { count in
                attempts.store(count, ordering: .sequentiallyConsistent)
                return isDone.load(ordering: .sequentiallyConsistent)
            }
        }
        #expect(try await eventually { attempts.load(ordering: .sequentiallyConsistent) == 1 })
        for count in 2...4 {
            waiters.published()
            #expect(try await eventually { attempts.load(ordering: .sequentiallyConsistent) == count })
        }
        try await Task.sleep(for: .milliseconds(50))
        #expect(attempts.load(ordering: .sequentiallyConsistent) == 4)
        isDone.store(true, ordering: .sequentiallyConsistent)
        waiters.published()
        try await made
    }

    @Test func whatIsToldDuringAnAttemptIsNotMissed() throws {
        let waiters = SplitWaiters(seconds: 60)
        let made = try Self.attempts(waiters) { count in
            if count < 100 { waiters.published() }
            return count == 100
        }
        #expect(made == 100)
    }

    private final class Turn: Sendable { let number = Mutex(0) }

    @Test func manyThreadsMissNothing() async throws {
        let waiters = SplitWaiters(seconds: 60)
        let turn = Turn()
        let threads = (0..<8).map { number in
            Task {
                try await onThread {
                    for round in 0..<200 {
                        // Each waits for the one before: one lost signal stops them all.
                        _ = try Self.attempts(waiters) { _ in turn.number.withLock { $0 == round * 8 + number } }
                        turn.number.withLock { $0 += 1 }
                        waiters.published()
                    }
                }
            }
        }
        for thread in threads { try await thread.value }
        #expect(turn.number.withLock { $0 } == 1_600)
    }

    @Test func nobodyWaitsForEver() throws {
        let begin = ContinuousClock.now
        #expect(throws: CatalogError.self) { try Self.attempts(SplitWaiters(seconds: 0.1)) { _ in false } }
        #expect(begin.duration(to: .now) >= .milliseconds(100))
    }

    /// truncate(2) by name waits for the writer's split; when the writer has gone, there is nothing to wait for.
    @Test func theLastWritersCloseEndsTheWait() async throws {
        let test = try TestVolume(settle: 60)
        let (made, opened) = try await test.create("a")
        let node = try test.volume.node(made.node)
        let attempts = Atomic(0)
        let waiting = Task {
            try await onThread {
                try test.volume.changing(node) { _ in
                    attempts.add(1, ordering: .sequentiallyConsistent)
                    throw Self.replaced
                }
            }
        }
        // (The second one is made when it waits.)
        #expect(try await eventually { attempts.load(ordering: .sequentiallyConsistent) == 2 })
        let begin = ContinuousClock.now
        try test.close(opened.handle)
        #expect(await errnoOf { try await waiting.value } == ESTALE)
        #expect(begin.duration(to: .now) < .seconds(5))
    }
}

/// Runs what blocks on a thread of its own.
private func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { done in
        Thread { done.resume(with: Result { try body() }) }.start()
    }
}

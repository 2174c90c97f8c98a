import FileProvider
import FileProviderTesting
import Foundation
import MountHarness
import SyncEngine
import Synchronization
import Testing

@testable import Volume

/// What programs have just made waits while they make more.
@Suite struct BusyProgramTests {
    private let test: TestVolume

    init() throws { test = try TestVolume() }

    private var created: Int { test.provider.plan.attempts(of: .createItem) }

    /// Programs change one document after another until the body ends.
    private func whileBusy(_ body: () async throws -> Void) async throws {
        // (A thread of its own: tests beside this one may keep the few of all tasks.)
        let programs = Programs(test.engine)
        defer { programs.end() }
        try await Task.sleep(for: .milliseconds(300))
        try await body()
    }

    @Test func whatIsPendingIsSentWhenTheyAreDone() async throws {
        for number in 0..<5 { try await test.save(Filename("doc \(number)"), "text") }
        try await whileBusy {
            test.engine.start()
            try await Task.sleep(for: .milliseconds(500))
            #expect(created == 0)
        }
        #expect(try await eventually { created == 5 })
    }

    @Test func whoWaitsForItDoesNotWaitForThem() async throws {
        for number in 0..<5 { try await test.save(Filename("doc \(number)"), "text") }
        try await whileBusy {
            let left = try await test.sync()
            #expect(left.isEmpty)
            #expect(created == 5)
        }
    }

    @Test func aPersonsChangesAreSentAtOnce() async throws {
        test.engine.start()
        for number in 0..<5 {
            try await test.save(Filename("doc \(number)"), "text")
            try await Task.sleep(for: .milliseconds(120))
            #expect(try await eventually { created == number + 1 })
        }
    }
}

private final class Programs: Sendable {
    private let isOver = Atomic(false)

    init(_ engine: SyncEngine) {
        Thread.detachNewThread {
            while !self.isOver.load(ordering: .relaxed) {
                for _ in 0..<100 { engine.changed() }
                usleep(1_000)
            }
        }
    }

    func end() { isOver.store(true, ordering: .relaxed) }
}

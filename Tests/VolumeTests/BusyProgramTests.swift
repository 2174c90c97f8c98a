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
    private func whileBusy(_ body: (Programs) async throws -> Void) async throws {
        // (A thread of its own: tests beside this one may keep the few of all tasks.)
        let programs = Programs(test.engine)
        defer { programs.end() }
        try await Task.sleep(for: .milliseconds(300))
        try await body(programs)
    }

    @Test func whatIsPendingIsSentWhenTheyAreDone() async throws {
        for number in 0..<5 { try await test.save(Filename("doc \(number)"), "text") }
        try await whileBusy { programs in
            test.engine.start()
            try await Task.sleep(for: .milliseconds(500))
            // (Where the machine let them pause it is right to send.)
            #expect(created == 0 || programs.havePaused)
        }
        #expect(try await eventually { created == 5 })
    }

    @Test func whoWaitsForItDoesNotWaitForThem() async throws {
        for number in 0..<5 { try await test.save(Filename("doc \(number)"), "text") }
        try await whileBusy { _ in
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
                self.note()
                usleep(1_000)
            }
        }
    }

    private let pauses = Mutex((last: ContinuousClock.now, longest: Duration.zero))

    private func note() {
        let now = ContinuousClock.now
        pauses.withLock { $0 = (now, max($0.longest, $0.last.duration(to: now))) }
    }

    /// For half as long as the engine looks at (`LocalActivity.window`).
    var havePaused: Bool {
        pauses.withLock { max($0.longest, $0.last.duration(to: .now)) } > .milliseconds(50)
    }

    func end() { isOver.store(true, ordering: .relaxed) }
}

import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import MountHarness
import Testing
import Trees

@testable import SyncEngine

@Suite("Wall clock changes", .timeLimit(.minutes(10))) struct WallClockTests {
    @Test("a clock set back is detected against the monotonic clock, once")
    func setBack() {
        func reading(_ wall: Double, _ running: Double) -> WallClock.Reading {
            WallClock.Reading(wall: Int64(wall * 1e9), running: Int64(running * 1e9))
        }
        var clock = WallClock(tolerance: 1, at: reading(1_000, 10))
        func wasSetBack(_ wall: Double, _ running: Double) -> Bool { clock.wasSetBack(by: reading(wall, running)) }
        // Time passes, the machine sleeps: both go on.
        #expect(!wasSetBack(1_090, 100))
        // Set ahead.
        #expect(!wasSetBack(4_700, 110))
        #expect(wasSetBack(1_110, 120))
        #expect(!wasSetBack(1_111, 121))
        // By as much as passed since.
        #expect(wasSetBack(1_111, 141))
        // Slowed down for a while.
        #expect(!wasSetBack(2_110.5, 1_141))
    }

    /// As if the clock had been an hour ahead when it was written.
    @Test("a change that waits an hour for its time is sent now", arguments: ["ready_at", "retry_at"])
    func waiting(column: String) async throws {
        let test = try TestEngine()
        try await test.engine.enumerate(.root)
        try test.save("a", "text")
        let moment = FileTime.now.adding(seconds: 3_600).nanoseconds
        try SQLite.execute(
            "UPDATE item SET \(column) = \(moment), error_code = 'cannotSynchronize', error = '', attempts = 1 WHERE id > 1",
            in: test.catalog.path)
        test.engine.start()
        #expect(try await eventually { test.remote.read("a") == Array("text".utf8) })
        #expect(try await eventually { try test.pending().isEmpty })
        await test.engine.stop()
    }
}

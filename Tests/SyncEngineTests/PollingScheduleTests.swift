import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import MountHarness
import Synchronization
import Testing
import Trees

@testable import SyncEngine

/// Which folders are asked for again where the store says nothing by itself.
@Suite(.timeLimit(.minutes(10))) struct PollingScheduleTests {
    private static let start = ContinuousClock.now
    private static func after(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }
    private static let folder = InodeID(rawValue: 7)
    // (The macros take no mutating calls.)
    private func due(_ schedule: inout PollingSchedule, _ now: ContinuousClock.Instant) -> [InodeID] {
        schedule.due(at: now)
    }
    private func list(_ schedule: inout PollingSchedule, _ now: ContinuousClock.Instant) -> Bool {
        schedule.wasListed(Self.folder, at: now)
    }

    @Test("the interval grows while nothing changes, and is reset by a change") func intervals() {
        var schedule = PollingSchedule(poll: 30)
        #expect(!list(&schedule, Self.start), "it has just been listed")
        #expect(due(&schedule, Self.after(29)).isEmpty)
        var now = 0.0
        for interval in [30.0, 60, 120, 240, 300, 300] {
            #expect(due(&schedule, Self.after(now + interval - 1)).isEmpty)
            now += interval
            #expect(due(&schedule, Self.after(now)) == [Self.folder])
            schedule.polled(Self.folder, at: Self.after(now), hasChanged: false)
        }
        schedule.polled(Self.folder, at: Self.after(now), hasChanged: true)
        #expect(due(&schedule, Self.after(now + 30)) == [Self.folder])
    }

    @Test("a look after a pause makes the folder due at once, and only once") func again() {
        var schedule = PollingSchedule(poll: 30)
        _ = schedule.wasListed(Self.folder, at: Self.start)
        #expect(!list(&schedule, Self.after(10)))
        #expect(list(&schedule, Self.after(40)))
        #expect(!list(&schedule, Self.after(41)))
    }

    @Test("folders that nobody visits are forgotten, and so is the oldest of too many") func memory() {
        var schedule = PollingSchedule(poll: 30)
        _ = schedule.wasListed(Self.folder, at: Self.start)
        #expect(due(&schedule, Self.after(1_801)).isEmpty)
        _ = schedule.wasListed(Self.folder, at: Self.after(1_802))
        for number in 0..<PollingSchedule.most {
            _ = schedule.wasListed(InodeID(rawValue: Int64(100 + number)), at: Self.after(1_803))
        }
        #expect(due(&schedule, Self.after(1_900)).count == PollingSchedule.most)
        #expect(!due(&schedule, Self.after(1_900)).contains(Self.folder))
    }

    /// A store whose topmost folder has a version; it counts what it is asked.
    private final class Versioned: ForwardingProvider, FolderVersioning {
        let base = InMemoryProvider(signalsOwnChanges: false)
        private let state = Mutex((version: 0, listings: 0, questions: 0))
        var listings: Int { state.withLock { $0.listings } }
        var questions: Int { state.withLock { $0.questions } }
        func changed() { state.withLock { $0.version += 1 } }

        func folderVersion(of folder: ItemIdentifier) async throws(FileProviderError) -> String? {
            state.withLock { state in
                state.questions += 1
                return "\(state.version)"
            }
        }

        func enumerateItems(in folder: ItemIdentifier, startingAt page: Page?) async throws(FileProviderError)
            -> ItemPage
        {
            state.withLock { $0.listings += 1 }
            return try await base.enumerateItems(in: folder, startingAt: page)
        }
    }

    @Test("nothing is listed while the topmost folder's version is the same") func versions() async throws {
        let provider = Versioned()
        try provider.base.put("a", "one")
        var times = SyncTimes.quick
        times.poll = 0.05
        try await withStore(provider, times: times) { store in
            _ = try store.files.tree(reading: false)
            try waitUntil(5, "it is asked for its version") { provider.questions > 3 }
            try waitUntil(5, "what was looked at is listed once more") { provider.listings >= 2 }
            // (A loaded machine may come to it late.)
            var listings = 0
            for _ in 0..<5 where listings != provider.listings {
                let questions = provider.questions
                listings = provider.listings
                try waitUntil(5, "it is asked again") { provider.questions > questions + 5 }
            }
            #expect(provider.listings == listings)
            try provider.base.put("b", "two")
            provider.changed()
            // (Nobody looks meanwhile.)
            try waitUntil(5, "what is new is listed") { provider.listings > listings }
            try waitUntil(5, "and shows") { try store.files.exists("b") }
        }
    }

    /// A store with a connection for signals, which a test opens and closes.
    private final class Connected: ForwardingProvider, FolderVersioning, ConnectedSignaling {
        let base = InMemoryProvider(signalsOwnChanges: false)
        private let state = Mutex((isUp: false, questions: 0))
        private let stream: AsyncStream<ChangeSignal>
        private let continuation: AsyncStream<ChangeSignal>.Continuation
        private let openings = AsyncStream.makeStream(of: Void.self)

        init() { (stream, continuation) = AsyncStream.makeStream() }

        func signalOpenings() -> AsyncStream<Void>? { openings.stream }
        /// The connection comes up.
        func open() {
            isSignaling = true
            openings.continuation.yield(())
        }

        var questions: Int { state.withLock { $0.questions } }
        var isSignaling: Bool {
            get { state.withLock { $0.isUp } }
            set { state.withLock { $0.isUp = newValue } }
        }
        func signal(_ signal: ChangeSignal) { continuation.yield(signal) }
        func changeSignals() -> AsyncStream<ChangeSignal> { stream }

        func folderVersion(of folder: ItemIdentifier) async throws(FileProviderError) -> String? {
            state.withLock { state in
                state.questions += 1
                return "always the same"
            }
        }
    }

    @Test("with a connection for signals a tenth of the polls remain, and signals count; without it all remain")
    func connected() async throws {
        let provider = Connected()
        try provider.base.put("a", "one")
        var times = SyncTimes.quick
        times.poll = 0.05
        try await withStore(provider, times: times) { store in
            _ = try store.files.tree(reading: false)
            let start = ContinuousClock.now
            try waitUntil(5, "it is asked often") { provider.questions >= 20 }
            let took = start.duration(to: .now)
            provider.isSignaling = true
            let before = provider.questions
            Thread.sleep(forTimeInterval: took / .seconds(1))
            // (One is under way, and one takes place when the connection is seen to be up.)
            #expect(provider.questions - before <= Int(took / .seconds(0.5)) + 2)
            try provider.base.put("b", "two")
            provider.signal(.folder(.rootContainer))
            try waitUntil(5, "the signal is followed") { try store.files.exists("b") }
            provider.isSignaling = false
            let after = provider.questions
            try waitUntil(5, "it is asked often again") { provider.questions >= after + 20 }
        }
    }

    @Test("what changed while the connection for signals was down is asked for when it comes up") func opened()
        async throws
    {
        let provider = Connected()
        try provider.base.put("a", "one")
        var times = SyncTimes.quick
        times.poll = 3_600
        try await withStore(provider, times: times) { store in
            _ = try store.files.tree(reading: false)
            try provider.base.put("b", "two")
            provider.open()
            try waitUntil(5, "it is asked at once") { try store.files.exists("b") }
        }
    }
}

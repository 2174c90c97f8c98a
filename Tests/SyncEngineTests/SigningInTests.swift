import ContentStore
import FileProvider
import FileProviderTesting
import ItemCatalog
import MountHarness
import Synchronization
import Testing

@testable import SyncEngine

/// What a program is told while the store does not let us in, and right after the user has signed in.
@Suite(.timeLimit(.minutes(2))) struct SigningInTests {
    /// A store with an account. Whether it takes the password it says after a while.
    private final class Account: ForwardingProvider, SigningIn {
        let base = InMemoryProvider()
        private struct State {
            var isAccepted = false
            var delay = Duration.zero
        }
        private let state = Mutex(State())

        func set(isAccepted: Bool, delay: Duration) {
            state.withLock { $0 = State(isAccepted: isAccepted, delay: delay) }
        }
        func credentialMayHaveChanged() {}

        private func enter() async throws(FileProviderError) {
            let now = state.withLock { $0 }
            try? await Task.sleep(for: now.delay)
            if !now.isAccepted { throw FileProviderError(.notAuthenticated, "The password is another one.") }
        }

        func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item {
            try await enter()
            return try await base.providePlaceholder(for: identifier)
        }

        func enumerateItems(
            in folder: ItemIdentifier, startingAt page: Page?
        ) async throws(FileProviderError) -> ItemPage {
            try await enter()
            return try await base.enumerateItems(in: folder, startingAt: page)
        }

        func startProvidingItem(
            _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
        ) async throws(FileProviderError) {
            try await enter()
            try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
        }
    }

    private static let longest = SyncContext.patienceWhenAway * 6

    private func engine(_ test: TestEngine, _ account: Account) -> SyncEngine {
        var times = SyncTimes()
        // Nobody else asks meanwhile.
        times.firstRetry = 3_600
        return SyncEngine(
            context: SyncContext(
                provider: account, catalog: test.catalog, store: test.store, times: times,
                defaults: test.context.defaults, logger: test.context.logger))
    }

    @Test("who has just signed in waits for the store; who has not is told at once") func listing() async throws {
        let (test, account) = (try TestEngine(), Account())
        let engine = engine(test, account)
        await #expect(throws: SyncError.self) { try await engine.enumerate(.root) }
        #expect(engine.context.connection.failure?.code == .notAuthenticated)

        account.set(isAccepted: false, delay: Self.longest)
        for _ in 0..<2 {
            // (The second joins what the first has begun.)
            let start = ContinuousClock.now
            await #expect(throws: SyncError.self) { try await engine.enumerate(.root) }
            #expect(start.duration(to: .now) < Self.longest / 2, "it waited for a store that is known to be away")
        }
        try await Task.sleep(for: Self.longest)

        account.set(isAccepted: true, delay: Self.longest)
        await engine.credentialMayHaveChanged()
        #expect(engine.context.connection.failure != nil, "until the store has said so")
        try await engine.enumerate(.root)
        #expect(engine.context.connection.failure == nil)
    }

    @Test("that the password is still another one is known from then on") func refused() async throws {
        let (test, account) = (try TestEngine(), Account())
        let engine = engine(test, account)
        await #expect(throws: SyncError.self) { try await engine.enumerate(.root) }
        await engine.credentialMayHaveChanged()
        #expect(!engine.context.isKnownToBeAway)
        await #expect(throws: SyncError.self) { try await engine.enumerate(.root) }
        #expect(engine.context.isKnownToBeAway)
    }

    @Test("who reads waits as well") func reading() async throws {
        let (test, account) = (try TestEngine(), Account())
        let engine = engine(test, account)
        try account.base.put("a", Array("abc".utf8))
        account.set(isAccepted: true, delay: .zero)
        try await engine.enumerate(.root)
        account.set(isAccepted: false, delay: .zero)
        let (content, target) = try test.download("a")
        func read() async throws { try await engine.hydrator.provide(0..<3, of: content, for: target) }
        await #expect(throws: SyncError.self) { try await read() }
        account.set(isAccepted: false, delay: Self.longest)
        let start = ContinuousClock.now
        await #expect(throws: SyncError.self) { try await read() }
        #expect(start.duration(to: .now) < Self.longest / 2, "it waited for a store that is known to be away")
        try await Task.sleep(for: Self.longest)
        account.set(isAccepted: true, delay: Self.longest)
        await engine.credentialMayHaveChanged()
        try await read()
    }
}

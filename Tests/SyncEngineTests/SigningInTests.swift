import ContentStore
import FileProvider
import FileProviderTesting
import ItemCatalog
import MountHarness
import Synchronization
import Testing
import Trees

@testable import SyncEngine

/// What a program is told while the store does not let us in, and right after the user has signed in.
@Suite(.timeLimit(.minutes(10))) struct SigningInTests {
    /// A store with an account. Whether it takes the password it says when a gate opens.
    private final class Account: ForwardingProvider, SigningIn {
        let base = InMemoryProvider()
        private struct State {
            var isAccepted = false
            var gate: Gate?
        }
        private let state = Mutex(State())

        func set(isAccepted: Bool, _ gate: Gate? = nil) {
            state.withLock { $0 = State(isAccepted: isAccepted, gate: gate) }
        }
        func credentialMayHaveChanged() {}

        private func enter() async throws(FileProviderError) {
            let now = state.withLock { $0 }
            try await now.gate?.pass()
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

    private func engine(_ test: TestEngine, _ account: Account) -> SyncEngine {
        var times = SyncTimes()
        // The probe asks when it is told to.
        times.firstRetry = 3_600
        return SyncEngine(
            provider: account, catalog: test.catalog, store: test.store, times: times,
            defaults: test.engine.mount.defaults, logger: test.engine.mount.logger)
    }

    /// Somebody signs in, and looks while the store has not said anything yet, for longer than one that is away is given.
    ///
    /// - Parameter earlier: what was asked before waits there; the store refuses it when somebody looks already.
    private func signIn(
        _ engine: SyncEngine, _ account: Account, isAccepted: Bool, after earlier: Gate? = nil,
        _ request: @escaping @Sendable () async throws -> Void
    ) async throws {
        let gate = Gate()
        account.set(isAccepted: isAccepted, gate)
        await engine.credentialMayHaveChanged()
        #expect(engine.client.connection.failure != nil, "until the store has said so")
        let task = Task { try await request() }
        earlier?.open()
        try await Task.sleep(for: StoreClient.patienceWhenAway * 4)
        gate.open()
        try await task.value
    }

    @Test("after a sign-in, requests wait for the store; before one, they fail at once") func listing() async throws {
        let (test, account) = (try TestEngine(), Account())
        let engine = engine(test, account)
        await #expect(throws: SyncError.self) { try await engine.enumerate(.root) }
        #expect(engine.client.connection.failure?.code == .notAuthenticated)

        let gate = Gate()
        account.set(isAccepted: false, gate)
        // (The second joins what the first has begun. Who waits for the gate waits for ever.)
        for _ in 0..<2 { await #expect(throws: SyncError.self) { try await engine.enumerate(.root) } }
        // The listing that was begun before does not answer who has signed in.
        try await signIn(engine, account, isAccepted: true, after: gate) { try await engine.enumerate(.root) }
        #expect(engine.client.connection.failure == nil)
    }

    @Test("a password that is still wrong is remembered as wrong") func refused() async throws {
        let (test, account) = (try TestEngine(), Account())
        let engine = engine(test, account)
        await #expect(throws: SyncError.self) { try await engine.enumerate(.root) }
        await #expect(throws: SyncError.self) {
            try await signIn(engine, account, isAccepted: false) { try await engine.enumerate(.root) }
        }
        #expect(engine.client.isKnownToBeAway)
    }

    @Test("the probe detects a wrong password without a request") func refusedProbe() async throws {
        let (test, account) = (try TestEngine(), Account())
        let engine = engine(test, account)
        await #expect(throws: SyncError.self) { try await engine.enumerate(.root) }
        try await signIn(engine, account, isAccepted: false) {}
        #expect(try await eventually { engine.client.isKnownToBeAway })
    }

    @Test("a sign-in before the probe has begun is not missed either") func signedInBefore() async throws {
        let (test, account) = (try TestEngine(), Account())
        let engine = engine(test, account)
        let probe = ReturnProbe(mount: engine.mount, client: engine.client)
        _ = engine.client.connection.failed(FileProviderError(.notAuthenticated, "refused"), asked: .now)
        account.set(isAccepted: true)
        await probe.now()
        await probe.begin()
        #expect(try await eventually { engine.client.connection.failure == nil })
        await probe.end()
    }

    @Test("a sign-in while the probe asks is not missed") func signedInMeanwhile() async throws {
        let (test, account) = (try TestEngine(), Account())
        let engine = engine(test, account)
        await #expect(throws: SyncError.self) { try await engine.enumerate(.root) }
        let gate = Gate()
        account.set(isAccepted: false, gate)
        await engine.credentialMayHaveChanged()
        await gate.waitForArrivals()
        let next = Gate()
        account.set(isAccepted: true, next)
        await engine.credentialMayHaveChanged()
        gate.open()
        let start = ContinuousClock.now
        await next.waitForArrivals()
        #expect(!engine.client.isKnownToBeAway, "the refusal is of the time before")
        next.open()
        #expect(try await eventually { engine.client.connection.failure == nil })
        // (By itself it asks again after 30 s.)
        #expect(start.duration(to: .now) < .seconds(20))
    }

    @Test("a read waits for the sign-in as well") func reading() async throws {
        let (test, account) = (try TestEngine(), Account())
        let engine = engine(test, account)
        try account.base.put("a", Array("abc".utf8))
        account.set(isAccepted: true)
        try await engine.enumerate(.root)
        account.set(isAccepted: false)
        let (content, target) = try test.download("a")
        let read = { @Sendable in try await engine.downloader.provide(0..<3, of: content, for: target) }
        await #expect(throws: SyncError.self) { try await read() }
        let gate = Gate()
        account.set(isAccepted: false, gate)
        await #expect(throws: SyncError.self) { try await read() }
        // The stream that was begun before does not answer who has signed in.
        try await signIn(engine, account, isAccepted: true, after: gate) { try await read() }
    }
}

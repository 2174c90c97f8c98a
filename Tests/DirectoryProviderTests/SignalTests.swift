import FileProvider
import Foundation
import Glibc
import Synchronization
import Testing

@testable import DirectoryProvider

/// What others change is noticed, soon.
@Suite(.serialized) struct SignalTests {
    /// Collects signals from the moment on when all folders are watched.
    private final class Listener: Sendable {
        private let task: Task<Void, Never>

        init(_ provider: DirectoryProvider) async throws {
            let stream = provider.changeSignals()
            let heard = Inbox()
            inbox = heard
            task = Task {
                for await signal in stream { heard.take(signal) }
            }
            #expect(await hears(.everything))
        }
        private let inbox: Inbox

        deinit { task.cancel() }

        /// Forgets what was heard, acts, and waits for `signal`. Returns whether it came.
        func hears(_ signal: ChangeSignal, after action: () throws -> Void) async rethrows -> Bool {
            try? await Task.sleep(for: .milliseconds(150))
            inbox.clear()
            try action()
            return await hears(signal)
        }

        func hears(_ signal: ChangeSignal, within limit: Duration = .seconds(60)) async -> Bool {
            let end = ContinuousClock.now + limit
            while ContinuousClock.now < end {
                if inbox.has(signal) { return true }
                try? await Task.sleep(for: .milliseconds(2))
            }
            return false
        }

        var all: [ChangeSignal] { inbox.all }
        func clear() { inbox.clear() }
    }

    private final class Inbox: Sendable {
        private let signals = Mutex<[ChangeSignal]>([])
        func take(_ signal: ChangeSignal) { signals.withLock { $0.append(signal) } }
        func has(_ signal: ChangeSignal) -> Bool { signals.withLock { $0.contains(signal) } }
        func clear() { signals.withLock { $0 = [] } }
        var all: [ChangeSignal] { signals.withLock { $0 } }
    }

    /// Each of a few tries must be heard.
    private func expectSoon(
        _ signal: ChangeSignal, by listener: Listener, _ what: Comment,
        sourceLocation: SourceLocation = #_sourceLocation, after action: (Int) throws -> Void
    ) async rethrows {
        for attempt in 0..<5 {
            guard try await listener.hears(signal, after: { try action(attempt) }) else {
                Issue.record("no signal: \(what)", sourceLocation: sourceLocation)
                return
            }
        }
    }

    @Test func everyKindOfChange() async throws {
        let store = try TestStore()
        store.makeFolder("sub")
        let sub = try await store.item("sub").identifier
        let listener = try await Listener(store.provider)
        let signal = ChangeSignal.folder(sub)
        store.shell("cd sub && touch old0 old1 old2 old3 old4 gone0 gone1 gone2 gone3 gone4")
        try await expectSoon(signal, by: listener, "create") { try store.write("1", to: "sub/a\($0)") }
        await expectSoon(signal, by: listener, "modify") { _ in store.overwriteInPlace("sub/a0", with: "2") }
        await expectSoon(signal, by: listener, "chmod") { chmod(store.path("sub/a0"), 0o600 + mode_t($0)) }
        await expectSoon(signal, by: listener, "attribute") {
            store.shell("setfattr -n user.colour -v \($0) sub/a0")
        }
        await expectSoon(signal, by: listener, "attribute removed") { _ in
            store.shell("setfattr -n user.colour -v red sub/a0 && setfattr -x user.colour sub/a0")
        }
        await expectSoon(.folder(.rootContainer), by: listener, "a folder's attribute") {
            store.shell("setfattr -n user.colour -v \($0) sub")
        }
        await expectSoon(signal, by: listener, "rename") {
            rename(store.path("sub/old\($0)"), store.path("sub/new\($0)"))
        }
        await expectSoon(signal, by: listener, "delete") { unlink(store.path("sub/gone\($0)")) }
        await expectSoon(.folder(.rootContainer), by: listener, "mkdir") { store.makeFolder("made\($0)") }
    }

    @Test func aNewTreeIsWatchedAtOnce() async throws {
        let holder = Holder()
        let store = try TestStore(seams: .with { $0.beforeEvents = { holder.act() } })
        let listener = try await Listener(store.provider)
        try await Task.sleep(for: .milliseconds(150))
        // The tree is there before its first folder can be watched.
        holder.action = { [unowned store] in store.shell("mkdir -p a/b/c && echo 1 > a/b/c/d") }
        store.makeFolder("a")
        var folder = ItemIdentifier.rootContainer
        #expect(await listener.hears(.folder(folder)))
        for name in ["a", "b", "c"] {
            folder = try await store.item(name, in: folder).identifier
            #expect(await listener.hears(.folder(folder)))
        }
        try await expectSoon(.folder(folder), by: listener, "below") {
            try store.write("1", to: "a/b/c/d\($0)")
        }
    }

    @Test func aWatchStaysWithItsFolder() async throws {
        let store = try TestStore()
        store.shell("mkdir -p a/b")
        let a = try await store.item("a").identifier
        let b = try await store.item("b", in: a).identifier
        let listener = try await Listener(store.provider)
        _ = await listener.hears(.folder(.rootContainer)) { rename(store.path("a"), store.path("z")) }
        try await expectSoon(.folder(b), by: listener, "below") { try store.write("1", to: "z/b/f\($0)") }
        // New folders below are found under the new name.
        _ = await listener.hears(.folder(b)) { store.makeFolder("z/b/c") }
        let c = try await store.item("c", in: b).identifier
        try await expectSoon(.folder(c), by: listener, "new below") {
            try store.write("1", to: "z/b/c/f\($0)")
        }
    }

    @Test func aFolderThatLeavesIsForgotten() async throws {
        let store = try TestStore()
        let elsewhere = try TestStore()
        store.shell("mkdir -p a/b")
        let a = try await store.item("a").identifier
        let b = try await store.item("b", in: a).identifier
        let listener = try await Listener(store.provider)
        _ = await listener.hears(.folder(.rootContainer)) {
            rename(store.path("a"), elsewhere.path("a"))
        }
        try await Task.sleep(for: .milliseconds(150))
        listener.clear()
        try elsewhere.write("1", to: "a/b/f")
        #expect(await listener.hears(.folder(b), within: .milliseconds(300)) == false)
    }

    @Test func ownFilesAreNoNews() async throws {
        let store = try TestStore()
        let listener = try await Listener(store.provider)
        listener.clear()
        try store.write("1", to: ".hydrant-n0123456789abcdef.tmp")
        #expect(await listener.hears(.folder(.rootContainer), within: .milliseconds(300)) == false)
    }

    @Test func manyChangesAreOneSignal() async throws {
        let store = try TestStore()
        let listener = try await Listener(store.provider)
        _ = await listener.hears(.folder(.rootContainer)) {
            store.shell("for i in 1 2 3 4 5 6 7 8 9; do echo $i > f$i; done")
        }
        try await Task.sleep(for: .milliseconds(150))
        #expect((1...4).contains(listener.all.count))
    }

    @Test func withoutEnoughWatches() async throws {
        let store = try TestStore(
            seams: .with {
                $0.watchLimit = 1
                $0.unwatchedInterval = 0.1
            })
        store.makeFolder("unwatched")
        let listener = try await Listener(store.provider)
        listener.clear()
        #expect(await listener.hears(.everything))
        listener.clear()
        #expect(await listener.hears(.everything))
    }

    @Test func anOverflowIsEverything() async throws {
        let holder = Holder()
        let store = try TestStore(seams: .with { $0.beforeEvents = { holder.act() } })
        store.shell("mkdir sub; echo 1 > sub/a")
        let listener = try await Listener(store.provider)
        try await Task.sleep(for: .milliseconds(150))
        listener.clear()
        // While the watcher's thread is held up, the queue (16,384 events) runs over, and the news of a
        // new folder with it.
        let (began, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        holder.action = {
            began.signal()
            done.wait()
        }
        Thread.detachNewThread { [path = store.root + "/sub"] in
            chmod(path + "/a", 0o600)
            began.wait()
            for _ in 0..<20_000 {
                rename(path + "/a", path + "/b")
                rename(path + "/b", path + "/a")
            }
            mkdir(path + "/new", 0o755)
            done.signal()
        }
        #expect(await listener.hears(.everything))
        let sub = try await store.item("sub").identifier
        let new = try await store.item("new", in: sub).identifier
        try await expectSoon(.folder(new), by: listener, "rewatched") {
            try store.write("1", to: "sub/new/f\($0)")
        }
    }

    @Test func theStreamEndsAtUnmount() async throws {
        let store = try TestStore()
        let stream = store.provider.changeSignals()
        await store.provider.invalidate()
        for await _ in stream {}
    }
}

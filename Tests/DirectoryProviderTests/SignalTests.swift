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

        /// Forgets what was heard, acts, and waits for `signal`.
        ///
        /// - Returns: how long it took; nil when it did not come.
        func delay(until signal: ChangeSignal, after action: () throws -> Void) async rethrows -> Duration? {
            try? await Task.sleep(for: .milliseconds(150))
            inbox.clear()
            let began = ContinuousClock.now
            try action()
            return await hears(signal) ? ContinuousClock.now - began : nil
        }

        func hears(_ signal: ChangeSignal, within limit: Duration = .seconds(5)) async -> Bool {
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

    private func expectSoon(_ delay: Duration?, _ what: Comment) {
        guard let delay else {
            Issue.record("no signal: \(what)")
            return
        }
        #expect(delay < .milliseconds(200), what)
    }

    @Test func everyKindOfChange() async throws {
        let store = try TestStore()
        store.makeFolder("sub")
        let sub = try await store.item("sub").identifier
        let listener = try await Listener(store.provider)
        let signal = ChangeSignal.folder(sub)
        expectSoon(try await listener.delay(until: signal) { try store.write("1", to: "sub/a") }, "create")
        expectSoon(
            await listener.delay(until: signal) { store.overwriteInPlace("sub/a", with: "2") }, "modify")
        expectSoon(await listener.delay(until: signal) { chmod(store.path("sub/a"), 0o600) }, "chmod")
        expectSoon(
            await listener.delay(until: signal) { rename(store.path("sub/a"), store.path("sub/b")) }, "rename"
        )
        expectSoon(await listener.delay(until: signal) { unlink(store.path("sub/b")) }, "delete")
        expectSoon(await listener.delay(until: .folder(.rootContainer)) { store.makeFolder("new") }, "mkdir")
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
        expectSoon(await listener.delay(until: .folder(folder)) { unlink(store.path("a/b/c/d")) }, "below")
    }

    @Test func aWatchStaysWithItsFolder() async throws {
        let store = try TestStore()
        store.shell("mkdir -p a/b")
        let a = try await store.item("a").identifier
        let b = try await store.item("b", in: a).identifier
        let listener = try await Listener(store.provider)
        expectSoon(
            await listener.delay(until: .folder(.rootContainer)) { rename(store.path("a"), store.path("z")) },
            "rename")
        expectSoon(try await listener.delay(until: .folder(b)) { try store.write("1", to: "z/b/f") }, "below")
        // New folders below are found under the new name.
        _ = await listener.delay(until: .folder(b)) { store.makeFolder("z/b/c") }
        let c = try await store.item("c", in: b).identifier
        expectSoon(
            try await listener.delay(until: .folder(c)) { try store.write("1", to: "z/b/c/f") }, "new below")
    }

    @Test func aFolderThatLeavesIsForgotten() async throws {
        let store = try TestStore()
        let elsewhere = try TestStore()
        store.shell("mkdir -p a/b")
        let a = try await store.item("a").identifier
        let b = try await store.item("b", in: a).identifier
        let listener = try await Listener(store.provider)
        _ = await listener.delay(until: .folder(.rootContainer)) {
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
        _ = await listener.delay(until: .folder(.rootContainer)) {
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
        expectSoon(
            try await listener.delay(until: .folder(new)) { try store.write("1", to: "sub/new/f") },
            "rewatched")
    }

    @Test func theStreamEndsAtUnmount() async throws {
        let store = try TestStore()
        let stream = store.provider.changeSignals()
        await store.provider.invalidate()
        for await _ in stream {}
    }
}

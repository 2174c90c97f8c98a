import FileProvider
import Foundation
import Glibc
import Synchronization
import Testing

@testable import DirectoryProvider

/// Changed documents, and others who change them at the same time.
@Suite struct ReplaceTests {
    @Test func contentsDateModeAndAttributes() async throws {
        let store = try TestStore()
        let item = try await store.create("a.txt", "one")
        #expect(store.shell("chmod 640 a.txt && setfattr -n user.colour -v red a.txt") == 0)
        let changed = try await store.change(item, to: "two")
        #expect(store.read("a.txt") == "two")
        #expect(changed.contentModificationDate == FileTime(seconds: 1_500_000_000))
        #expect(changed.posixPermissions == 0o640)
        #expect(store.shell("getfattr -n user.colour a.txt >/dev/null") == 0)
        #expect(store.names == ["a.txt"])
        #expect(try await store.item("a.txt") == changed)
        let mode = try await store.provider.itemChanged(
            item.identifier, contents: TextSource("three"),
            metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 1), posixPermissions: 0o711),
            baseVersion: changed.version)
        #expect(mode.posixPermissions == 0o711)
    }

    @Test func aStaleBaseIsRefused() async throws {
        let store = try TestStore()
        let item = try await store.create("a", "one")
        store.replace("a", with: "theirs")
        // Their file is another item under the same name.
        #expect(await code { try await store.change(item, to: "mine") } == .noSuchItem)
        let theirs = try await store.item("a")
        store.overwriteInPlace("a", with: "THEIRS")
        let error = await failure { try await store.change(theirs, to: "mine") }
        #expect(error?.code == .versionMismatch)
        let now = try await store.item("a")
        #expect(error?.item == now)
        #expect(store.read("a") == "THEIRS")
        #expect(store.names == ["a"])
    }

    @Test func metadataAloneIsNoMismatch() async throws {
        let store = try TestStore()
        let item = try await store.create("a", "one")
        #expect(store.shell("chmod 600 a && mkdir sub && mv a sub/b") == 0)
        let changed = try await store.change(item, to: "two")
        #expect(changed.filename == "b")
        #expect(store.read("sub/b") == "two")
    }

    @Test func renamedDuringTheUpload() async throws {
        let store = try TestStore()
        let item = try await store.create("a", "one")
        let source = TextSource("two") { store.shell("mkdir sub; mv a sub/b") }
        let changed = try await store.change(item, to: "", source: source)
        #expect(changed.identifier == item.identifier)
        #expect(store.read("sub/b") == "two")
        #expect(store.names == ["sub"])
    }

    /// The moment that a check before the rename cannot see.
    @Test(arguments: [false, true])
    func aLostUpdateIsNotLost(inPlace: Bool) async throws {
        let holder = Holder()
        let store = try TestStore(seams: .with { $0.beforeCommit = { holder.act() } })
        let item = try await store.create("a", "one")
        holder.action = { [unowned store] in
            inPlace ? store.overwriteInPlace("a", with: "TWO") : store.replace("a", with: "theirs")
        }
        let error = await failure { try await store.change(item, to: "mine") }
        #expect(error?.code == .versionMismatch)
        #expect(store.read("a") == (inPlace ? "TWO" : "theirs"))
        let now = try await store.item("a")
        #expect(error?.item == now)
        #expect(store.names == ["a"], "exchanged back, and nothing left over")
    }

    @Test func whenEvenGoingBackComesTooLateAllAreKept() async throws {
        let (first, second) = (Holder(), Holder())
        let store = try TestStore(
            seams: .with {
                $0.beforeCommit = { first.act() }
                $0.afterExchange = { second.act() }
            })
        let item = try await store.create("a.txt", "one")
        first.action = { [unowned store] in store.replace("a.txt", with: "second") }
        second.action = { [unowned store] in store.replace("a.txt", with: "third") }
        let error = await failure { try await store.change(item, to: "mine") }
        #expect(error?.code == .versionMismatch)
        #expect(store.read("a.txt") == "third")
        #expect(store.conflictedCopies == ["second"])
        #expect(store.names.count == 2)
        #expect(store.names.contains { $0.hasPrefix("a (conflicted copy, ") && $0.hasSuffix(").txt") })
    }

    /// Two clients exchange theirs with the same version: the second's is there until he has seen what he displaced, and the
    /// first must not take that for a version of the store's (then neither would have won).
    @Test func whoComesTooLateIsThereForAMoment() async throws {
        for _ in 0..<100 {
            let holder = Holder()
            let store = try TestStore(seams: .with { $0.beforeReply = { holder.act() } })
            let item = try await store.create("a", "one")
            let took = Mutex(Duration.zero)
            let done = DispatchSemaphore(value: 0)
            holder.action = { [unowned store] in
                let (place, ours) = (store.path("a"), store.path("ours"))
                precondition(link(place, ours) == 0)
                store.replace("a", with: "HIS!")
                let start = ContinuousClock.now
                Thread.detachNewThread {
                    usleep(3_000)
                    precondition(rename(ours, place) == 0)
                    took.withLock { $0 = start.duration(to: .now) }
                    done.signal()
                }
            }
            let result: Result<Item, any Error>
            do { result = .success(try await store.change(item, to: "mine")) } catch { result = .failure(error) }
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    done.wait()
                    continuation.resume()
                }
            }
            // (He was there for longer than a moment: the machine is busy.)
            if case .failure = result, took.withLock({ $0 }) > .milliseconds(30) { continue }
            try await check(result.get(), item, store)
            return
        }
        Issue.record("he never left in time")
    }

    private func check(_ changed: Item, _ item: Item, _ store: TestStore) async throws {
        #expect(changed.size == 4 && changed.version != item.version)
        #expect(store.read("a") == "mine")
        #expect(try await store.item("a").version == changed.version)
    }

    /// Of the same size, between the replacement and the look at it: his version is never told as that of our contents, or
    /// our next change would be taken for one of his.
    @Test(arguments: [false, true], [false, true])
    func replacedInTheSameMoment(inPlace: Bool, withoutExchange: Bool) async throws {
        let holder = Holder()
        let store = try TestStore(
            seams: .with {
                $0.beforeReply = { holder.act() }
                $0.renameFlagsUnsupported = withoutExchange
            })
        let theirs = { @Sendable [unowned store] in
            inPlace ? store.overwriteInPlace("a", with: "HIS!") : store.replace("a", with: "HIS!")
        }
        holder.action = theirs
        #expect(await code { try await store.create("a", "mine") } == .filenameCollision)
        #expect(store.read("a") == "HIS!")

        var item = try await store.item("a")
        holder.action = theirs
        let changed = await failure { try await store.change(item, to: "mine") }
        #expect(changed?.code == .versionMismatch)
        #expect(changed?.item?.version != item.version)
        #expect(store.read("a") == "HIS!")

        item = try await store.item("a")
        holder.action = theirs
        let metadata = ItemMetadata(contentModificationDate: FileTime(seconds: 7))
        let dated = await failure {
            try await store.provider.updateMetadata(item.identifier, to: metadata, baseVersion: item.version)
        }
        #expect(dated?.code == .versionMismatch)
    }

    @Test func aWriterWithTheOldFileOpenIsHeard() async throws {
        let holder = Holder()
        let store = try TestStore(seams: .with { $0.beforeUnlink = { holder.act() } })
        let item = try await store.create("a", "one")
        let file = open(store.path("a"), O_WRONLY)
        holder.action = { pwrite(file, "late", 4, 0) }
        _ = try await store.change(item, to: "mine")
        close(file)
        #expect(store.read("a") == "mine")
        #expect(store.conflictedCopies == ["late"])
    }

    @Test func withoutExchange() async throws {
        let store = try TestStore(seams: .with { $0.renameFlagsUnsupported = true })
        let item = try await store.create("a", "one")
        let changed = try await store.change(item, to: "two")
        #expect(changed.identifier == item.identifier)
        #expect(store.names == ["a"])
        #expect(await code { try await store.change(item, to: "three") } == .versionMismatch)
        #expect(await code { try await store.create("a", "x") } == .filenameCollision)
        let moved = try await store.provider.moveItem(
            item.identifier, to: .rootContainer, as: "b", baseVersion: changed.version)
        try await store.provider.deleteItem(moved.identifier, baseVersion: moved.version)
        #expect(store.names == [])
    }

    @Test func shortContentsLeaveNoTrace() async throws {
        let store = try TestStore()
        let item = try await store.create("a", "one")
        let short = TextSource("short", announcing: 100)
        #expect(await code { try await store.change(item, to: "", source: short) } == .cannotSynchronize)
        let template = ItemTemplate(
            parentIdentifier: .rootContainer, filename: "b", kind: .document,
            contentModificationDate: FileTime(seconds: 0))
        #expect(
            await code { try await store.provider.createItem(template, contents: short) }
                == .cannotSynchronize)
        #expect(store.names == ["a"])
        #expect(try await store.item("a") == item)
    }

    @Test func aCancelledUploadLeavesNoTrace() async throws {
        let store = try TestStore()
        let item = try await store.create("a", "one")
        let source = TextSource("two") { withUnsafeCurrentTask { $0?.cancel() } }
        let task = Task { try await store.change(item, to: "", source: source) }
        #expect(await code { try await task.value } == .cancelled)
        #expect(store.names == ["a"])
        #expect(store.read("a") == "one")
    }
}

/// What another program does at a moment, once.
final class Holder: @unchecked Sendable {
    // Set by a test before the one call that runs it; never touched by two threads at once.
    var action: () -> Void = {}
    func act() {
        let now = action
        action = {}
        now()
    }
}

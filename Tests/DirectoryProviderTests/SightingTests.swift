import FileProvider
import Glibc
import Synchronization
import Testing

@testable import DirectoryProvider

/// Changes that keep a document's size, date and inode: what a program writes that sets the date back.
@Suite struct SightingTests {
    private static let date = "@1600000000"

    private static func store() async throws -> (TestStore, Item) {
        let store = try TestStore()
        try store.write("first", to: "a")
        #expect(store.shell("touch -d \(date) a") == 0)
        return (store, try await store.item("a"))
    }

    /// As VeraCrypt does.
    private static func rewrite(_ store: TestStore, _ text: String) {
        store.overwriteInPlace("a", with: text)
        #expect(store.shell("touch -d \(date) a") == 0)
    }

    @Test("They are another version, with the same size and date") func noticed() async throws {
        let (store, item) = try await Self.store()
        var versions = [item.version.content]
        for text in ["other", "third", "first"] {
            Self.rewrite(store, text)
            let now = try await store.item("a")
            #expect(now.identifier == item.identifier && now.size == item.size)
            #expect(now.contentModificationDate == item.contentModificationDate)
            #expect(!versions.contains(now.version.content), "\(text)")
            versions.append(now.version.content)
            #expect(try await store.item("a") == now)
            #expect(try await store.download(now) == Array(text.utf8))
        }
    }

    @Test("What was made from the version before is refused") func refused() async throws {
        let (store, item) = try await Self.store()
        Self.rewrite(store, "other")
        #expect(await code { try await store.change(item, to: "mine!") } == .versionMismatch)
        #expect(await code { try await store.download(item) } == .versionMismatch)
        #expect(
            await code { try await store.provider.deleteItem(item.identifier, baseVersion: item.version) }
                == .versionMismatch)
        #expect(store.read("a") == "other")
        let now = try await store.item("a")
        #expect(try await store.change(now, to: "mine!").identifier == item.identifier)
        #expect(store.read("a") == "mine!" && store.names == ["a"])
    }

    @Test("A date that goes away and comes back brings no earlier version back") func backAndForth() async throws {
        let (store, item) = try await Self.store()
        store.overwriteInPlace("a", with: "other")
        let changed = try await store.item("a")
        #expect(store.shell("touch -d \(Self.date) a") == 0)
        let back = try await store.item("a")
        #expect(back.contentModificationDate == item.contentModificationDate)
        #expect(Set([item, changed, back].map(\.version.content)).count == 3)
    }

    @Test(
        "A rename, another mode, owner or attribute is none",
        arguments: [
            "chmod 600 a", "mv a b; mkdir sub; mv b sub/a", "chown 1:1 a", "setfattr -n user.x -v 1 a",
            "setfattr -n system.posix_acl_access -v 0x0200000001000600ffffffff02000600feff000004000400ffffffff10000600ffffffff20000400ffffffff a",
            "cat a",
        ])
    func metadata(_ command: String) async throws {
        let (store, item) = try await Self.store()
        #expect(store.shell(command) == 0)
        let now = try await store.provider.providePlaceholder(for: item.identifier)
        #expect(now.version.content == item.version.content)
        #expect(try await store.change(now, to: "mine!").identifier == item.identifier)
    }

    @Test("Nor is what we do ourselves") func ownChanges() async throws {
        let (store, item) = try await Self.store()
        let moved = try await store.provider.moveItem(
            item.identifier, to: .rootContainer, as: "b", baseVersion: item.version)
        #expect(moved.version.content == item.version.content)
        let metadata = ItemMetadata(
            contentModificationDate: item.contentModificationDate, posixPermissions: item.posixPermissions)
        for _ in 0..<2 {
            let set = try await store.provider.updateMetadata(item.identifier, to: metadata, baseVersion: moved.version)
            #expect(set.version.content == item.version.content)
            #expect(try await store.item("b") == set)
        }
    }

    @Test("A download goes on over a rename, and ends at other contents", arguments: [true, false])
    func download(_ isRename: Bool) async throws {
        let store = try TestStore()
        let text = String(repeating: "x", count: 300_000)
        try store.write(text, to: "a")
        #expect(store.shell("touch -d \(Self.date) a") == 0)
        let item = try await store.item("a")
        let isFirst = Atomic(true)
        let sink = CollectingSink {
            guard isFirst.exchange(false, ordering: .relaxed) else { return }
            if isRename {
                store.shell("mv a b; chmod 600 b")
            } else {
                Self.rewrite(store, String(repeating: "y", count: 300_000))
            }
        }
        let failed = await code {
            try await store.provider.startProvidingItem(
                item.identifier, version: item.version.content, range: 0..<item.size, into: sink)
        }
        #expect(failed == (isRename ? nil : .versionMismatch))
        #expect(sink.bytes.allSatisfy { $0 == UInt8(ascii: "x") })
        if isRename { #expect(sink.bytes.count == 300_000) }
    }

    @Test("inotify tells of a write that a change of the mode would hide") func written() async throws {
        let (store, item) = try await Self.store()
        let signals = store.provider.changeSignals()
        var iterator = signals.makeAsyncIterator()
        #expect(await iterator.next() == .everything)
        // All within the time in which events are gathered, or at least seen before the next look.
        store.overwriteInPlace("a", with: "other")
        #expect(store.shell("touch -d \(Self.date) a; chmod 600 a") == 0)
        #expect(await iterator.next() == .folder(.rootContainer))
        let now = try await store.item("a")
        #expect(now.version.content != item.version.content && now.posixPermissions == 0o600)
    }
}

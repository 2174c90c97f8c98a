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

    @Test("Other contents of the same size and date are another version") func noticed() async throws {
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

    @Test("A change from a stale base version is refused") func refused() async throws {
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

    @Test("A date that changes back does not restore an earlier version") func backAndForth() async throws {
        let (store, item) = try await Self.store()
        store.overwriteInPlace("a", with: "other")
        let changed = try await store.item("a")
        #expect(store.shell("touch -d \(Self.date) a") == 0)
        let back = try await store.item("a")
        #expect(back.contentModificationDate == item.contentModificationDate)
        #expect(Set([item, changed, back].map(\.version.content)).count == 3)
    }

    @Test(
        "A rename, another mode, owner or attribute does not change the content version",
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

    @Test("Deleted documents, deleted here or in the store, leave nothing in memory") func forgotten() async throws {
        let (store, item) = try await Self.store()
        try store.write("second", to: "b")
        let other = try await store.item("b")
        #expect(store.provider.store.sightings.count == 2)
        try await store.provider.deleteItem(item.identifier, baseVersion: item.version)
        #expect(store.provider.store.sightings.count == 1)
        #expect(store.shell("rm b") == 0)
        #expect(await code { try await store.provider.providePlaceholder(for: other.identifier) } == .noSuchItem)
        #expect(store.provider.store.sightings.count == 0)
    }

    @Test("A file that loses one of its names is still recognised by the other name") func lostName() async throws {
        let (store, item) = try await Self.store()
        #expect(store.shell("ln a b") == 0)
        let second = try await store.item("b")
        try await store.provider.deleteItem(second.identifier, baseVersion: second.version)
        #expect(try await store.item("a").version.content == item.version.content)
        Self.rewrite(store, "other")
        #expect(try await store.item("a").version.content != item.version.content)
    }

    @Test("A table frees the memory of removed entries") func room() {
        var table = IdentifierTable<Int>()
        for number in 0..<100_000 { table[ItemIdentifier("\(number)")] = number }
        #expect(table.count == 100_000)
        for number in 100..<100_000 { table[ItemIdentifier("\(number)")] = nil }
        #expect(table.count == 100 && table.capacity < 20_000)
        for number in 0..<100 { #expect(table[ItemIdentifier("\(number)")] == number) }
    }

    @Test("Our own changes do not change the content version") func ownChanges() async throws {
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

    @Test("A download continues over a rename, and ends when the contents change", arguments: [true, false])
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

    @Test(
        "inotify reports a write that a change of the mode, or another link, would hide",
        arguments: ["chmod 600 a", "ln a b"])
    func written(_ command: String) async throws {
        let (store, item) = try await Self.store()
        let signals = store.provider.changeSignals()
        var iterator = signals.makeAsyncIterator()
        #expect(await iterator.next() == .everything)
        // All within the time in which events are gathered, or at least seen before the next look.
        store.overwriteInPlace("a", with: "other")
        #expect(store.shell("touch -d \(Self.date) a; \(command)") == 0)
        #expect(await iterator.next() == .folder(.rootContainer))
        let now = try await store.item("a")
        #expect(now.version.content != item.version.content)
    }

    @Test(
        "A link that comes and goes does not change the contents, nor hide a change of them", arguments: [false, true])
    func names(_ isWritten: Bool) async throws {
        let (store, item) = try await Self.store()
        #expect(store.shell("ln a b") == 0)
        let two = try await store.items()
        #expect(two.map(\.filename) == ["a", "b"] && !two.contains { $0.identifier == item.identifier })
        #expect(two.allSatisfy { $0.version.content == item.version.content })
        if isWritten {
            Self.rewrite(store, "other")
            let written = try await store.items()
            #expect(written.allSatisfy { $0.version.content != item.version.content })
            #expect(Set(written.map(\.version.content)).count == 1)
        }
        #expect(store.shell("rm b") == 0)
        let now = try await store.item("a")
        #expect(now.identifier == item.identifier)
        #expect((now.version.content == item.version.content) != isWritten)
        #expect(await code { try await store.change(item, to: "mine!") } == (isWritten ? .versionMismatch : nil))
    }
}

/// A change time that nothing explains: the contents are compared, where they have passed through here.
@Suite struct ContentComparisonTests {
    private static let date = "@1600000000"
    /// How the contents come to be known.
    enum Way: CaseIterable, Sendable { case downloaded, made, replaced }
    /// What leaves another change time, and the contents as they were.
    private static let touches = [
        "chmod 644 a", "chown $(id -u) a", "touch -d \(date) a", "touch -a -d @1 a", "ln a b; rm b", "mv a b; mv b a",
        "setfattr -n trusted.x -v 1 a", "printf first | dd of=a conv=notrunc 2>/dev/null; touch -d \(date) a",
    ]

    private static func store(_ way: Way, seams: Seams = Seams()) async throws -> (TestStore, Item) {
        let store = try TestStore(seams: seams)
        let metadata = ItemMetadata(contentModificationDate: FileTime(seconds: 1_600_000_000), posixPermissions: 0o644)
        switch way {
        case .downloaded:
            try store.write("first", to: "a")
            #expect(store.shell("chmod 644 a; touch -d \(date) a") == 0)
            #expect(try await store.download(store.item("a")) == Array("first".utf8))
        case .made: _ = try await store.create("a", "first")
        case .replaced: _ = try await store.change(store.create("a", "earlier"), to: "first")
        }
        var item = try await store.item("a")
        item = try await store.provider.updateMetadata(item.identifier, to: metadata, baseVersion: item.version)
        return (store, item)
    }

    @Test("A touched file with the same contents has the same content version", arguments: Way.allCases, touches)
    func same(_ way: Way, _ command: String) async throws {
        let (store, item) = try await Self.store(way)
        let changed = try #require(MetadataText(item.version.metadata)).changed
        for _ in 0..<2 {
            #expect(store.shell(command) == 0)
            let now = try await store.item("a")
            #expect(now.identifier == item.identifier && now.version.content == item.version.content)
            let later = try #require(MetadataText(now.version.metadata)).changed
            #expect(later > changed)
        }
        #expect(try await store.change(item, to: "mine!").identifier == item.identifier)
    }

    @Test(
        "A touched file with other contents has another version, whatever else changed before", arguments: Way.allCases)
    func others(_ way: Way) async throws {
        let (store, item) = try await Self.store(way)
        #expect(store.shell("chmod 644 a") == 0)
        #expect(try await store.item("a").version.content == item.version.content)
        store.overwriteInPlace("a", with: "other")
        #expect(store.shell("touch -d \(Self.date) a") == 0)
        #expect(await code { try await store.change(item, to: "mine!") } == .versionMismatch)
        // Those of before are others again, since nobody has read these.
        let other = try await store.item("a")
        store.overwriteInPlace("a", with: "first")
        #expect(store.shell("touch -d \(Self.date) a") == 0)
        #expect(Set([item, other, try await store.item("a")].map(\.version.content)).count == 3)
        #expect(store.read("a") == "first")
    }

    @Test(
        "A download of the first part is enough to compare contents; a later part, or a part beyond the limit, is not")
    func parts() async throws {
        let store = try TestStore()
        try store.write("first", to: "a")
        #expect(store.shell("touch -d \(Self.date) a") == 0)
        var item = try await store.item("a")
        for (range, isKnown) in [(1..<5, false), (0..<4, true)] as [(Range<Int64>, Bool)] {
            try await store.provider.startProvidingItem(
                item.identifier, version: item.version.content, range: range, into: IgnoringSink())
            #expect(store.shell("touch -d \(Self.date) a") == 0)
            let now = try await store.item("a")
            #expect((now.version.content == item.version.content) == isKnown)
            item = now
        }
        #expect(
            ContentHasher(size: ContentDigest.largest) != nil && ContentHasher(size: ContentDigest.largest + 1) == nil)
    }

    @Test("An empty document stays the same version") func empty() async throws {
        let store = try TestStore()
        #expect(store.shell(": >a; touch -d \(Self.date) a") == 0)
        let item = try await store.item("a")
        #expect(store.shell("touch -d \(Self.date) a") == 0)
        #expect(try await store.item("a").version.content == item.version.content)
    }

    @Test("A document that changes while it is compared is compared again", arguments: [false, true])
    func meanwhile(_ isWritten: Bool) async throws {
        let comparisons = Atomic(0)
        let path = Mutex("")
        let seams = Seams.with {
            $0.beforeComparing = { _ in
                // After it was looked at, and before it is read.
                guard comparisons.add(1, ordering: .relaxed).newValue == 1 else { return }
                let name = path.withLock { $0 }
                if isWritten {
                    let file = open(name, O_WRONLY)
                    pwrite(file, "other", 5, 0)
                    close(file)
                }
                let date = timespec(tv_sec: 1_600_000_000, tv_nsec: 0)
                utimensat(AT_FDCWD, name, [date, date], 0)
            }
        }
        let (store, item) = try await Self.store(.downloaded, seams: seams)
        path.withLock { $0 = store.path("a") }
        #expect(store.shell("chmod 644 a") == 0)
        let now = try await store.item("a")
        #expect((now.version.content == item.version.content) != isWritten)
        #expect(comparisons.load(ordering: .relaxed) == 2)
    }
}

private struct IgnoringSink: ContentSink {
    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {}
}

import FileProvider
import Glibc
import Synchronization
import Testing

@testable import DirectoryProvider

final class Counter: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    /// - Returns: how many it has counted now.
    @discardableResult
    func add() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}

/// What is seen of a folder.
@Suite struct EnumerationTests {
    @Test func pages() async throws {
        let store = try TestStore()
        #expect(store.shell("i=0; while [ $i -lt 1200 ]; do : > f$i; i=$((i+1)); done") == 0)
        let first = try await store.provider.enumerateItems(in: .rootContainer, startingAt: nil)
        #expect(first.items.count == 500)
        let items = try await store.items()
        #expect(items.count == 1200)
        #expect(Set(items.map(\.filename)).count == 1200)
        #expect(Set(items.map(\.identifier)).count == 1200)
        // The token of another run begins again rather than miss something.
        let page = try #require(first.nextPage)
        let restarted = try await store.again().enumerateItems(in: .rootContainer, startingAt: page)
        #expect(Set(restarted.items.map(\.filename)) == Set(first.items.map(\.filename)))
    }

    @Test func whatIsRenamedBetweenPagesIsNotMissed() async throws {
        let store = try TestStore()
        #expect(store.shell("i=0; while [ $i -lt 700 ]; do : > f$i; i=$((i+1)); done") == 0)
        let first = try await store.provider.enumerateItems(in: .rootContainer, startingAt: nil)
        let seen = Set(first.items.map(\.filename.string))
        let unseen = try #require((0..<700).map { "f\($0)" }.first { !seen.contains($0) })
        #expect(rename(store.path(unseen), store.path("elsewhere")) == 0)
        var rest: [Item] = []
        var page = first.nextPage
        while let next = page {
            let answer = try await store.provider.enumerateItems(in: .rootContainer, startingAt: next)
            rest += answer.items
            page = answer.nextPage
        }
        #expect(rest.contains { $0.filename == "elsewhere" })
        #expect(first.items.count + rest.count == 700)
    }

    @Test func onlyItemsAreSeen() async throws {
        let store = try TestStore()
        #expect(mkfifo(store.path("pipe"), 0o600) == 0)
        try store.write("", to: ".hydrant-n0123456789abcdef.tmp")
        try store.write("", to: ".hydrant-x0123456789abcdef.tmp")
        try store.write("", to: ".hydrant-mine.tmp")
        store.makeFolder("lost+found")
        symlink("/etc", store.path("link"))
        let items = try await store.items()
        #expect(Set(items.map(\.filename)) == [".hydrant-mine.tmp", "lost+found", "link"])
        #expect(items.first { $0.filename == "link" }?.kind == .symbolicLink(target: Array("/etc".utf8)))
        #expect(await code { try await store.create(".hydrant-n0123456789abcdef.tmp", "") } == .invalidName)
    }

    @Test func linksAreNeverFollowed() async throws {
        let store = try TestStore()
        symlink("/etc", store.path("etc"))
        let link = try await store.item("etc")
        #expect(await code { try await store.items(in: link.identifier) } == .cannotSynchronize)
        // A folder that was known is replaced by a link to /etc.
        store.makeFolder("folder")
        let folder = try await store.item("folder")
        try store.write("mine", to: "folder/passwd")
        let inside = try await store.item("passwd", in: folder.identifier)
        #expect(
            store.shell(
                "mv folder away && ln -s /etc folder && mv away /tmp/hydrant-dp-away.$$ && rm -r /tmp/hydrant-dp-away.$$"
            ) == 0)
        #expect(await code { try await store.items(in: folder.identifier) } == .noSuchItem)
        #expect(await code { try await store.download(inside) } == .noSuchItem)
        #expect(await code { try await store.create("new", "x", in: folder.identifier) } == .noSuchItem)
        let paths = try store.again(seams: .with { $0.pathIdentifiersOnly = true })
        for identifier in ["p:etc/passwd", "p:folder/passwd"] {
            #expect(
                await code { try await paths.providePlaceholder(for: ItemIdentifier(identifier)) }
                    == .noSuchItem)
        }
    }

    @Test func leftoversGo() async throws {
        let store = try TestStore()
        let (draft, aside) = (".hydrant-n0123456789abcdef.tmp", ".hydrant-x0123456789abcdef.tmp")
        // What a new provider sweeps up by itself is over.
        _ = try await store.items()
        try store.write("half an upload", to: "new")
        try store.write("somebody's only copy", to: aside)
        // A draft that somebody is at work on stays, and a young file set aside. (Locked before it has its name: a sweep
        // may be under way.)
        let worker = open(store.path("new"), O_RDONLY | O_CLOEXEC)
        #expect(flock(worker, LOCK_EX | LOCK_NB) == 0)
        #expect(rename(store.path("new"), store.path(draft)) == 0)
        _ = try await store.items()
        #expect(store.names.count == 2)
        // Unlocked by name: a process that another test has just forked holds the descriptor until its exec.
        #expect(flock(worker, LOCK_UN) == 0)
        close(worker)
        _ = try await store.items()
        #expect(store.names == [aside])
        let later = try store.again(seams: .with { $0.leftoverAge = -1 })
        _ = try await store.items(of: later)
        #expect(store.read(draft) == nil)
        #expect(store.conflictedCopies == ["somebody's only copy"])
    }

    @Test func metadataIsTold() async throws {
        let store = try TestStore()
        let made = try await store.create("a", "12345")
        #expect(made.size == 5)
        #expect(made.contentModificationDate == FileTime(seconds: 1_000_000_000, nanoseconds: 7))
        #expect(made.posixPermissions == 0o644)
        #expect(made.creationDate != nil)
        #expect(made.parentIdentifier == .rootContainer)
        // A rename changes the one version, not the other.
        #expect(rename(store.path("a"), store.path("b")) == 0)
        let renamed = try await store.item("b")
        #expect(renamed.version.content == made.version.content)
        #expect(renamed.version.metadata != made.version.metadata)
        let root = try await store.provider.providePlaceholder(for: .rootContainer)
        #expect(root.identifier == .rootContainer && root.parentIdentifier == .rootContainer)
    }
}

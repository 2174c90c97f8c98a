import FileProvider
import Foundation
import Glibc
import Synchronization
import Testing

@testable import DirectoryProvider

/// Folders in folders, more than anybody has.
@Suite struct DepthTests {
    /// Folders each in the one before. (Their path would be too long for a call.)
    private func makeChain(in root: String, _ count: Int, named name: String) throws {
        var folder = open(root, O_RDONLY | O_DIRECTORY)
        for _ in 0..<count {
            try #require(mkdirat(folder, name, 0o755) == 0)
            let next = openat(folder, name, O_RDONLY | O_DIRECTORY)
            try #require(next >= 0)
            close(folder)
            folder = next
        }
        close(folder)
    }

    @Test("Items that lie too deep are left out, and changes there are refused")
    func tooDeep() async throws {
        let store = try TestStore(seams: .with { $0.deepest = 3 })
        store.shell("mkdir -p a/b/c/d/e; echo 1 > a/b/c/f; echo 1 > a/b/f; mkdir x")
        var folder = ItemIdentifier.rootContainer
        var items: [Item] = []
        for name in ["a", "b", "c"] {
            items.append(try await store.item(name, in: folder))
            folder = items.last!.identifier
        }
        #expect(try await store.item("f", in: items[1].identifier).size == 2)
        let page = try await store.provider.enumerateItems(in: folder, startingAt: nil)
        #expect(page.items.isEmpty && page.nextPage == nil)
        #expect(Set(page.leftOut.map(\.filename)) == ["d", "f"])
        #expect(store.provider.store.walk() == nil)
        #expect(await code { try await store.create("new", "1", in: folder) } == .unsupported)
        let template = ItemTemplate(
            parentIdentifier: folder, filename: "new", kind: .folder, contentModificationDate: FileTime(seconds: 1))
        #expect(await code { try await store.provider.createItem(template, contents: nil) } == .unsupported)
        let x = try await store.item("x")
        let moved = await code {
            try await store.provider.moveItem(x.identifier, to: folder, as: "x", baseVersion: x.version)
        }
        #expect(moved == .unsupported)
        #expect(
            await code { try await store.provider.deleteItem(folder, baseVersion: items[2].version) }
                == .directoryNotEmpty)
    }

    /// 10,000 levels, opened one by one from the root down, are 50 million calls, on the thread that tells of changes.
    @Test("A chain of nested folders does not stop the watcher")
    func aChain() async throws {
        let store = try TestStore()
        try makeChain(in: store.root, 10_000, named: String(repeating: "d", count: 200))
        defer { store.shell("rm -rf d*") }
        let inbox = Inbox(store.provider)
        #expect(await inbox.hears(.everything))
        try store.write("1", to: "news")
        #expect(await inbox.hears(.folder(.rootContainer)))
        #expect(store.provider.store.walk() == nil)
    }

    /// A turn of the thread looks at one name, and a look takes long.
    @Test("Signals arrive while the first walk over the folders still runs")
    func newsMeanwhile() async throws {
        let inbox = Inbox()
        let turns = Turns()
        let store = try TestStore(
            seams: .with {
                $0.walkTurn = .zero
                $0.beforeEvents = {
                    let turn = turns.next()
                    if turn == 2 { mkdir(turns.root.withLock { $0 } + "/news", 0o755) }
                    // Until it is heard, the walk does not get anywhere.
                    if turn > 2, !inbox.has(.folder(.rootContainer)) { usleep(5_000) }
                }
            })
        turns.root.withLock { $0 = store.root }
        store.shell("mkdir $(seq 2000)")
        inbox.listen(to: store.provider)
        #expect(await inbox.hears(.everything))
        let all = inbox.all
        let news = try #require(all.firstIndex(of: .folder(.rootContainer)))
        #expect(news < all.firstIndex(of: .everything) ?? 0)
    }

    private final class Turns: Sendable {
        let root = Mutex("")
        private let count = Mutex(0)
        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    private final class Inbox: Sendable {
        private let signals = Mutex<[ChangeSignal]>([])
        private let task = Mutex<Task<Void, Never>?>(nil)

        init() {}
        init(_ provider: DirectoryProvider) { listen(to: provider) }

        func listen(to provider: DirectoryProvider) {
            let stream = provider.changeSignals()
            task.withLock {
                $0 = Task { [weak self] in
                    for await signal in stream { self?.signals.withLock { $0.append(signal) } }
                }
            }
        }
        deinit { task.withLock { $0?.cancel() } }

        var all: [ChangeSignal] { signals.withLock { $0 } }
        func has(_ signal: ChangeSignal) -> Bool { all.contains(signal) }
        func hears(_ signal: ChangeSignal, within limit: Duration = .seconds(60)) async -> Bool {
            let end = ContinuousClock.now + limit
            while ContinuousClock.now < end {
                if has(signal) { return true }
                try? await Task.sleep(for: .milliseconds(2))
            }
            return false
        }
    }
}

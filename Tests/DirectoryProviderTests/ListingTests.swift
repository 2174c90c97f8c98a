import FileProvider
import Glibc
import Synchronization
import Testing

@testable import DirectoryProvider

/// Folders in which others rename while they are being listed.
@Suite struct ListingTests {
    /// Names in the order in which they are looked at; acts once, before the look at the second one.
    private final class Lookups: Sendable {
        private let state = Mutex<(names: [String], act: (@Sendable ([String]) -> Void)?)>(([], nil))

        func act(_ body: @escaping @Sendable (_ first: String, _ second: String) -> Void) {
            state.withLock { $0 = ([], { body($0[0], $0[1]) }) }
        }

        func note(_ name: [UInt8]) {
            let due = state.withLock { state -> (@Sendable () -> Void)? in
                state.names.append(String(decoding: name, as: UTF8.self))
                guard state.names.count == 2, let act = state.act else { return nil }
                state.act = nil
                return { [names = state.names] in act(names) }
            }
            due?()
        }
    }

    private let lookups = Lookups()
    private let store: TestStore

    init() throws {
        store = try TestStore(seams: .with { [lookups] in $0.beforeLookup = { lookups.note($0) } })
    }

    /// A save by rename: the new file is met under its first name, then under the document's.
    @Test(arguments: [1, 700]) func aReplacedNameIsThere(_ others: Int) async throws {
        store.shell("for i in $(seq \(others)); do : > other$i; done; echo 1 > one; echo 2 > two; rm other1")
        let before = try await store.items()
        let names = Mutex(("", ""))
        lookups.act { [store] first, second in
            names.withLock { $0 = (first, second) }
            rename(store.path(first), store.path(second))
        }
        let (gone, replaced) = (try await store.items(), names.withLock { $0 })
        #expect(gone.count == before.count - 1)
        #expect(Set(gone.map(\.identifier)).count == gone.count)
        #expect(!gone.contains { $0.filename == Filename(replaced.0) })
        let file = try #require(before.first { $0.filename == Filename(replaced.0) })
        let now = try #require(gone.first { $0.filename == Filename(replaced.1) })
        #expect(now.identifier == file.identifier)
    }

    @Test func exchangedNamesAreBothThere() async throws {
        store.shell("echo 1 > one; echo 2 > two; echo 3 > three")
        let before = try await store.items()
        lookups.act { [store] first, second in
            let own = store.provider.store
            try! own.renameAtomically(
                Array(first.utf8), in: own.root, to: own.root, as: Array(second.utf8), flag: .exchange)
        }
        let after = try await store.items()
        #expect(Set(after.map(\.filename)) == ["one", "two", "three"])
        #expect(Set(after.map(\.identifier)) == Set(before.map(\.identifier)))
        let same = before.filter { old in after.contains { $0.filename == old.filename && $0 == old } }
        #expect(same.count == 1)
    }

    /// The first name is taken by a new file at once, as the next save does.
    @Test func theNextSaveIsThereToo() async throws {
        store.shell("echo 1 > one; echo 2 > two")
        lookups.act { [store] first, second in
            rename(store.path(first), store.path(second))
            try! store.write("next", to: first)
        }
        let items = try await store.items()
        #expect(Set(items.map(\.filename)) == ["one", "two"])
        #expect(Set(items.map(\.identifier)).count == 2)
        for item in items { #expect(try await store.provider.providePlaceholder(for: item.identifier) == item) }
    }

    /// Not an accident but a state: one folder under two names, as a bind mount makes it.
    @Test func oneFolderUnderTwoNames() async throws {
        store.makeFolder("one")
        store.makeFolder("two")
        // Needs to be root; elsewhere there is nothing to test.
        guard store.shell("mount --bind one two 2>/dev/null") == 0 else { return }
        defer { store.shell("umount -l two") }
        #expect(try await store.items().count == 2)
    }
}

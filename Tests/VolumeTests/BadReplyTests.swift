import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import MountHarness
import SyncEngine
import Testing
import Trees
import Volume

/// A provider is not trusted: its answer to a change, or its download, may be about something else. What is here is not
/// lost, nothing is asked over and over without a pause, and no other item is harmed.
@Suite(.timeLimit(.minutes(10))) struct BadReplyTests {
    private static func provider() throws -> ScriptedProvider {
        let provider = ScriptedProvider()
        try provider.base.put("doc", "text")
        try provider.base.put("other", "other")
        try provider.base.mkdir("folder")
        return provider
    }

    struct Lie: Sendable, CustomTestStringConvertible {
        var hook: Hook
        var what: String
        var edit: ScriptedProvider.Edit
        var testDescription: String { "\(hook): \(what)" }
    }

    private static func lie(_ hook: Hook, _ what: String, _ edit: @escaping @Sendable (inout Item) -> Void) -> Lie {
        Lie(hook: hook, what: what) { item in
            var item = item
            edit(&item)
            return item
        }
    }

    /// Those after which nothing can be taken for confirmed.
    static let refused: [Lie] =
        [Hook.createItem, .itemChanged, .moveItem].flatMap { hook in
            [
                lie(hook, "another kind") { $0.kind = .folder },
                lie(hook, "a link") { $0.kind = .symbolicLink(target: [0x61]) },
                lie(hook, "..") { $0.filename = ".." },
                lie(hook, "a/b") { $0.filename = "a/b" },
                lie(hook, "no identifier") { $0.identifier = ItemIdentifier("") },
                lie(hook, "the topmost folder's identifier") { $0.identifier = .rootContainer },
                lie(hook, "a long identifier") { $0.identifier = ItemIdentifier(String(repeating: "x", count: 2_000)) },
                lie(hook, "a negative size") { $0.size = -4 },
            ]
        }
        + [Hook.createItem, .itemChanged].flatMap { hook in
            [lie(hook, "fewer bytes") { $0.size -= 1 }, lie(hook, "more bytes") { $0.size += 1 }]
        }

    /// Makes a change that calls the hook.
    private static func change(_ store: InProcessStore, _ hook: Hook) throws -> (path: FSPath, text: String) {
        switch hook {
        case .createItem:
            try store.files.write("new", Array("created".utf8), at: 0, flags: O_CREAT)
            return ("new", "created")
        case .itemChanged:
            try store.files.write("doc", Array("changed".utf8), at: 0, flags: O_TRUNC)
            return ("doc", "changed")
        default:
            try store.files.rename("doc", to: "folder/moved", noReplace: true)
            return ("folder/moved", "text")
        }
    }

    /// What failed is not tried again before it is asked for.
    private static var once: SyncTimes {
        var times = SyncTimes.quick
        times.firstRetry = 300
        times.longestRetry = 300
        return times
    }

    private static func waitForRefusal(_ store: InProcessStore) throws {
        try waitUntil(20, "the answer is refused") {
            try store.volume.engine.pending().contains { $0.failure?.message.contains("cannot be right") == true }
        }
        #expect(try store.volume.engine.pending().count == 1)
    }

    @Test(arguments: refused) func anAnswerThatCannotBeIsNoConfirmation(_ lie: Lie) async throws {
        let provider = try Self.provider()
        try await withStore(provider, times: Self.once) { store throws in
            _ = try store.files.list(.root)
            provider.edit { $0.reply[lie.hook] = lie.edit }
            let (path, text) = try Self.change(store, lie.hook)
            try Self.waitForRefusal(store)
            #expect(provider.base.calls(of: lie.hook).count == 1, "asked without a pause")
            #expect(try store.files.text(path) == text)
            #expect(try store.files.text("other") == "other")
            let names = try store.files.list(.root).map { String(decoding: $0, as: UTF8.self) }
            #expect(names.allSatisfy { !$0.contains("/") && $0 != ".." })
            // Once it is put right the change arrives, once.
            provider.edit { $0.reply = [:] }
            #expect(try store.sync().isEmpty)
            #expect(provider.base.read(path.description) == Array(text.utf8))
            #expect(provider.base.read("other") == Array("other".utf8))
        }
    }

    /// Another item's identifier must not make two items one.
    @Test(arguments: [Hook.createItem, .itemChanged, .moveItem])
    func anotherItemsIdentifierIsRefused(_ hook: Hook) async throws {
        let provider = try Self.provider()
        let other = try #require(provider.base.item(at: "other")?.identifier)
        try await withStore(provider, times: Self.once) { store throws in
            _ = try store.files.list(.root)
            let (path, text) = try Self.change(store, hook)
            provider.edit {
                $0.reply[hook] = { item in
                    var item = item
                    item.identifier = other
                    return item
                }
            }
            try Self.waitForRefusal(store)
            #expect(provider.base.calls(of: hook).count == 1, "asked without a pause")
            #expect(try store.files.text(path) == text && store.files.text("other") == "other")
            provider.edit { $0.reply = [:] }
            #expect(try store.sync().isEmpty)
            #expect(provider.base.read(path.description) == Array(text.utf8))
            #expect(provider.base.read("other") == Array("other".utf8))
        }
    }

    /// A store may have the last word on names. It is taken, and not argued with; also where its listing tells of the new
    /// name before its reply does.
    @Test(arguments: [Hook.createItem, .moveItem]) func anotherNameIsTakenOver(_ hook: Hook) async throws {
        let provider = try Self.provider()
        try await withStore(provider) { store throws in
            _ = try store.files.list(.root)
            let (asked, given): (FSPath, FSPath) =
                hook == .createItem ? ("new", "theirs") : ("folder/moved", "folder/theirs")
            _ = try store.files.list(given.parent)
            provider.edit {
                $0.reply[hook] = { item in
                    let named = (try? provider.base.rename(asked.description, to: given.description)) ?? item
                    // (What is moved is an item that is known: it is not shown by another name while that goes on.)
                    if hook == .createItem {
                        #expect(throws: Never.self) {
                            try waitUntil(20, "it is shown") { (try? store.files.stat(given)) != nil }
                        }
                    }
                    return named
                }
            }
            let (_, text) = try Self.change(store, hook)
            #expect(try store.sync().isEmpty)
            #expect(try store.files.text(given) == text)
            #expect(provider.base.calls(of: hook).count == 1)
            #expect(failure { _ = try store.files.stat(asked) } == ENOENT)
        }
    }

    /// Where it is said to be elsewhere it is believed to be where it was put, until a listing says otherwise.
    @Test(arguments: [Hook.createItem, .moveItem]) func anotherFolderIsNotBelieved(_ hook: Hook) async throws {
        let provider = try Self.provider()
        try await withStore(provider) { store throws in
            _ = try store.files.list(.root)
            provider.edit {
                $0.reply[hook] = { item in
                    var item = item
                    item.parentIdentifier = ItemIdentifier("nowhere")
                    return item
                }
            }
            let (path, text) = try Self.change(store, hook)
            #expect(try store.sync().isEmpty)
            #expect(provider.base.calls(of: hook).count == 1)
            #expect(try store.files.text(path) == text)
            #expect(provider.base.read(path.description) == Array(text.utf8))
        }
    }

    /// The item that an error is about gets into the trees as well.
    @Test func theItemOfAnErrorIsLookedAtToo() async throws {
        let base = InMemoryProvider(pageSize: 50)
        try base.put("doc", "text")
        let provider = FaultInjectingProvider(base)
        try await withStore(provider) { store throws in
            _ = try store.files.list(.root)
            var bad = try #require(base.item(at: "doc"))
            bad.filename = "../outside"
            bad.version.content = ContentVersion("other")
            for code in [FileProviderError.Code.versionMismatch, .filenameCollision, .busy] {
                provider.plan.inject(.error(FileProviderError(code, "no", item: bad)), into: .itemChanged)
                provider.plan.inject(.error(FileProviderError(code, "no", item: bad)), into: .createItem)
                provider.plan.inject(.error(FileProviderError(code, "no", item: bad)), into: .deleteItem)
            }
            try store.files.write("doc", Array("changed".utf8), at: 0, flags: O_TRUNC)
            try store.files.write("new", Array("new".utf8), at: 0, flags: O_CREAT)
            #expect(try store.sync().isEmpty)
            let names = try store.files.list(.root).map { String(decoding: $0, as: UTF8.self) }
            #expect(names.allSatisfy { !$0.contains("/") })
            #expect(names.contains("doc") && names.contains("new"))
            #expect(try store.files.text("new") == "new")
            // What was written is in one of them.
            #expect(try names.contains { try store.files.text(FSPath($0)) == "changed" })
        }
    }

    @Test func aWordAboutAnotherItemIsNotTaken() async throws {
        let provider = try Self.provider()
        try await withStore(provider) { store throws in
            _ = try store.files.list(.root)
            for (identifier, name) in [("other", "doc"), ("item-1", "../x"), ("item-1", ".."), ("item-1", "")] {
                provider.edit {
                    $0.placeholder = { item in
                        if item.identifier == .rootContainer { return item }
                        var item = item
                        item.identifier = ItemIdentifier(identifier)
                        item.filename = Filename(name)
                        return item
                    }
                }
                for path in ["doc", "other"] {
                    provider.base.signal(.item(provider.base.item(at: path)!.identifier))
                }
                usleep(30_000)
            }
            #expect(
                try Set(store.files.list(.root).map { String(decoding: $0, as: UTF8.self) })
                    == ["doc", "other", "folder"])
            #expect(try store.files.text("doc") == "text" && store.files.text("other") == "other")
        }
    }

    enum Download: CaseIterable { case fewer, none, surplus, before, negative, endless }

    @Test(arguments: Download.allCases) func aDownloadOfOtherBytesIsNotTaken(_ kind: Download) async throws {
        let provider = try Self.provider()
        var times = SyncTimes.quick
        times.readTimeout = 2
        try await withStore(provider, times: times) { store throws in
            let good = Array("text".utf8)
            provider.edit {
                $0.download = { range, sink async throws(FileProviderError) in
                    switch kind {
                    case .fewer: try await sink.write([good[0]], at: 0)
                    case .none: return
                    case .surplus: try await sink.write(good + good, at: 0)
                    case .before: try await sink.write(good, at: -2)
                    case .negative: try await sink.write(good, at: .min)
                    case .endless:
                        // Never a byte that is wanted, whatever it is told.
                        while !Task.isCancelled { try? await sink.write([1], at: .max) }
                    }
                }
            }
            let refusal = failure { _ = try store.files.readAll("doc") }
            #expect(refusal == (kind == .endless ? ETIMEDOUT : EIO))
            provider.edit { $0.download = nil }
            #expect(try store.files.text("doc") == "text")
        }
    }
}

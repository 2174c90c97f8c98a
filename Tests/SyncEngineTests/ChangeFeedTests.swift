import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import Logging
import Testing
import Trees

@testable import SyncEngine

/// Changes since an anchor, instead of listings.
@Suite(.timeLimit(.minutes(10))) final class ChangeFeedTests {
    private let directory = NSTemporaryDirectory() + "feed-\(UUID().uuidString)"

    init() throws { try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// One mount of the store.
    private struct Mount {
        let engine: SyncEngine
        let catalog: Catalog
        let volume = FakeVolume()

        init(_ provider: any FileProviderExtension, _ directory: String) throws {
            catalog = try Catalog(path: directory + "/catalog", domain: "test:", owner: (1_000, 1_000))
            var times = SyncTimes()
            times.settle = 0
            times.firstRetry = 0.02
            times.poll = 0.05
            engine = SyncEngine(
                provider: provider, catalog: catalog, store: try ContentStore(directory: directory + "/content"),
                times: times, defaults: PlaceholderDefaults(uid: 1_000, gid: 1_000),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            engine.mount.attach(volume)
        }

        func inode(_ path: String) throws -> InodeRecord {
            try catalog.read { try $0.resolve(path.split(separator: "/").map { Filename(String($0)) }) }
        }
        func has(_ path: String) -> Bool { (try? inode(path)) != nil }
        func names(_ path: String = "") throws -> [String] {
            let folder = try inode(path).id
            return try catalog.read { try $0.children(of: folder, after: 0, limit: 1_000) }.map(\.name.string).sorted()
        }
        func list(_ path: String = "") async throws { try await engine.enumerate(try inode(path).id) }
        /// As the end of its process. (What was under way when it stopped gets no further.)
        func end() async {
            await engine.stop()
            catalog.close()
        }
        func anchor() throws -> String? {
            try catalog.read { try $0.syncAnchor() }.map { String(decoding: $0.bytes, as: UTF8.self) }
        }
    }

    /// A mount with these folders listed, that has an anchor and asks from it.
    private func mount(_ provider: AnchoredProvider, listed: [String] = [""]) async throws -> Mount {
        let mount = try Mount(provider, directory)
        for folder in listed { try await mount.list(folder) }
        mount.engine.start()
        #expect(try await eventually { try mount.anchor() != nil && !provider.questions.isEmpty })
        return mount
    }

    @Test func afterAMountChangesAreAskedForInsteadOfListings() async throws {
        let provider = AnchoredProvider(pageSize: 2)
        for number in 0..<5 { try provider.base.put("\(number)", "old") }
        try provider.base.put("f/a", "A")
        let before = try await mount(provider)
        await before.end()
        for number in 0..<5 { try provider.base.put("\(number)", "newer") }
        try provider.base.remove("4")
        try provider.base.put("new", "")
        try provider.base.put("f/b", "B")
        provider.base.forgetCalls()
        provider.forgetQuestions()
        let mount = try Mount(provider, directory)
        let anchor = try #require(try mount.anchor())
        mount.engine.start()
        #expect(try await eventually { try mount.names() == ["0", "1", "2", "3", "f", "new"] })
        #expect(try await eventually { try (0..<4).allSatisfy { try mount.inode("\($0)").size == 5 } })
        #expect(provider.base.calls(of: .enumerateItems).isEmpty)
        // (The topmost folder is asked for what may be done with it.)
        #expect(provider.base.calls(of: .providePlaceholder).allSatisfy { $0.identifier == .rootContainer })
        // What is in a folder that nobody has looked at is listed when somebody does.
        #expect(try mount.names("f") == [])
        // (What the first mount was about to ask may come in between.)
        let questions = provider.questions.drop { $0 != anchor }
        #expect(questions.first == anchor)
        #expect(questions.filter { $0.contains("@") }.count == 3)
        #expect(try await eventually { try mount.anchor()?.contains("@") == false })
        await mount.engine.stop()
    }

    @Test func whatLeftAFolderThatIsGoneIsTheSame() async throws {
        let provider = AnchoredProvider()
        try provider.base.put("f/a", "A")
        try provider.base.put("f/b", "B")
        let mount = try await mount(provider, listed: ["", "f"])
        let inode = try mount.inode("f/a").id
        // One answer tells of both.
        provider.controls.failures = Array(repeating: .serverUnreachable, count: 3)
        _ = try provider.base.rename("f/a", to: "a")
        try provider.base.remove("f")
        #expect(try await eventually { try mount.names() == ["a"] })
        #expect(try mount.inode("a").id == inode)
        #expect(try await mount.engine.sync(timeout: 60).isEmpty)
        #expect(provider.base.snapshot() == ["a": .document(Array("A".utf8))])
        await mount.engine.stop()
    }

    @Test func whatMovedToWhereNobodyHasLookedIsTheSame() async throws {
        let provider = AnchoredProvider()
        try provider.base.put("a", "A")
        try provider.base.put("x/y/other", "")
        try provider.base.put("x/y/z/other", "")
        let mount = try await mount(provider)
        let inode = try mount.inode("a").id
        _ = try provider.base.rename("a", to: "x/y/z/a")
        #expect(try await eventually { mount.has("x/y/z/a") && !mount.has("a") })
        #expect(try mount.inode("x/y/z/a").id == inode)
        // And on from there, in a folder that is not listed.
        try provider.base.put("x/y/z/a", "newer")
        #expect(try await eventually { try mount.inode("x/y/z/a").size == 5 })
        _ = try provider.base.rename("x/y/z/a", to: "b")
        #expect(try await eventually { mount.has("b") && !mount.has("x/y/z/a") })
        #expect(try mount.inode("b").id == inode)
        #expect(try mount.names("x") == ["y"])
        #expect(try await mount.engine.sync(timeout: 60).isEmpty)
        await mount.engine.stop()
    }

    @Test func foldersThatChangePlacesAreTheSame() async throws {
        let provider = AnchoredProvider()
        try provider.base.put("a/b/doc", "D")
        let mount = try await mount(provider, listed: ["", "a", "a/b"])
        let (a, b) = (try mount.inode("a").id, try mount.inode("a/b").id)
        provider.controls.failures = Array(repeating: .serverUnreachable, count: 3)
        _ = try provider.base.rename("a/b", to: "c")
        _ = try provider.base.rename("a", to: "c/a")
        #expect(try await eventually { mount.has("c/a") && mount.has("c/doc") && !mount.has("a") })
        #expect(try mount.inode("c").id == b && mount.inode("c/a").id == a)
        await mount.engine.stop()
    }

    /// Each page tells of one of the two.
    @Test func documentsThatChangePlacesOverTwoPagesAreTheSame() async throws {
        let provider = AnchoredProvider(pageSize: 1)
        try provider.base.put("a", "A")
        try provider.base.put("b", "B")
        let mount = try await mount(provider)
        let (a, b) = (try mount.inode("a").id, try mount.inode("b").id)
        provider.controls.failures = Array(repeating: .serverUnreachable, count: 3)
        _ = try provider.base.rename("a", to: "c")
        _ = try provider.base.rename("b", to: "a")
        _ = try provider.base.rename("c", to: "b")
        #expect(try await eventually { try mount.has("a") && mount.has("b") && mount.inode("a").id == b })
        #expect(try mount.inode("b").id == a && mount.names() == ["a", "b"])
        #expect(try await mount.engine.sync(timeout: 60).isEmpty)
        #expect(provider.base.snapshot() == ["a": .document(Array("B".utf8)), "b": .document(Array("A".utf8))])
        await mount.engine.stop()
    }

    /// Page by page it is as much as at once.
    @Test func aLargeDeletionOverManyPagesIsHeld() async throws {
        let provider = AnchoredProvider(pageSize: 5)
        for index in 0..<60 { try provider.base.put("doc\(index)", "text") }
        let mount = try await mount(provider)
        provider.controls.failures = Array(repeating: .serverUnreachable, count: 3)
        for index in 0..<60 { try provider.base.remove("doc\(index)") }
        // What came before the limit was reached is gone. (A page has five or, when it was asked for while some were
        // removed, fewer: the last one before the limit may have ended short of it.)
        #expect(
            try await eventually {
                let held = try mount.catalog.read { try $0.heldDeletions() }?.items ?? 0
                return try (40...44).contains(held) && mount.names().count == held
                    && provider.base.snapshot().isEmpty
            })
        #expect(try await mount.engine.sync(timeout: 60).isEmpty)
        await mount.engine.stop()
    }

    @Test func anExpiredAnchorMeansThatEverythingIsListedAnew() async throws {
        let provider = AnchoredProvider()
        try provider.base.put("a", "A")
        let before = try await mount(provider)
        await before.end()
        try provider.base.put("b", "B")
        try provider.base.remove("a")
        provider.controls.firstAnchor = .max
        provider.base.forgetCalls()
        let mount = try Mount(provider, directory)
        mount.engine.start()
        #expect(try await eventually { try mount.names() == ["b"] })
        #expect(!provider.base.calls(of: .enumerateItems).isEmpty)
        provider.controls.firstAnchor = 0
        let anchor = try mount.anchor()
        try provider.base.put("c", "C")
        #expect(try await eventually { try mount.names() == ["b", "c"] && mount.anchor() != anchor })
        await mount.engine.stop()
    }

    @Test func aPageThatCameIsKeptWhenTheNextDoesNot() async throws {
        let provider = AnchoredProvider(pageSize: 1)
        let mount = try await mount(provider)
        provider.controls.failures = Array(repeating: .serverUnreachable, count: 1_000)
        try provider.base.put("a", "A")
        try provider.base.put("b", "B")
        await mount.engine.stop()
        // The first page comes, nothing after it.
        provider.controls.failures = []
        provider.controls.beforeAnswer = { [unowned provider] in
            provider.controls.failures = Array(repeating: .serverUnreachable, count: 1_000)
        }
        let second = try Mount(provider, directory)
        second.engine.start()
        #expect(try await eventually { try second.anchor()?.contains("@1") == true })
        #expect(try second.names().count == 1)
        await second.engine.stop()
        provider.controls = AnchoredProvider.Controls()
        provider.forgetQuestions()
        let third = try Mount(provider, directory)
        third.engine.start()
        #expect(try await eventually { try third.names() == ["a", "b"] })
        #expect(provider.questions.first?.contains("@1") == true)
        await third.engine.stop()
    }

    /// What is taken at the end of all pages is not passed over when the end does not come.
    @Test func aFolderThatIsGoneIsNotForgottenWhenTheRestDoesNotCome() async throws {
        let provider = AnchoredProvider(pageSize: 1)
        try provider.base.mkdir("f")
        let mount = try await mount(provider)
        provider.controls.failures = Array(repeating: .serverUnreachable, count: 1_000)
        try provider.base.remove("f")
        try provider.base.put("b", "B")
        await mount.engine.stop()
        provider.controls.failures = []
        provider.forgetQuestions()
        provider.controls.beforeAnswer = { [unowned provider] in
            provider.controls.failures = Array(repeating: .serverUnreachable, count: 1_000)
        }
        let second = try Mount(provider, directory)
        second.engine.start()
        #expect(try await eventually { provider.questions.count >= 2 })
        await second.engine.stop()
        provider.controls = AnchoredProvider.Controls()
        let third = try Mount(provider, directory)
        third.engine.start()
        #expect(try await eventually { try third.names() == ["b"] })
        await third.engine.stop()
    }

    /// No end, or a circle: cut off, and everything is listed anew.
    @Test(arguments: ["same", "other"]) func answersWithoutEndAreCutOff(_ kind: String) async throws {
        let provider = AnchoredProvider()
        try provider.base.put("a", "A")
        let mount = try await mount(provider)
        let anchor = try #require(try mount.anchor())
        provider.controls.circle = SyncAnchor(kind == "same" ? anchor : "0>0@0")
        try provider.base.put("b", "B")
        #expect(try await eventually { try mount.names() == ["a", "b"] })
        await mount.engine.stop()
    }

    /// The answer was made before our change was, and comes after it.
    @Test func anAnswerFromBeforeAChangeOfOurOwnIsNotTaken() async throws {
        let provider = AnchoredProvider()
        try provider.base.put("a", "A")
        let mount = try await mount(provider)
        let item = try #require(provider.base.item(at: "a"))
        let catalog = mount.catalog
        let engine = mount.engine
        let inode = try mount.inode("a").id
        provider.controls.beforeAnswer = { [unowned provider] in
            provider.controls.beforeAnswer = nil
            // A change of the store's other client that is in the answer, and one of ours that is not.
            _ = try? catalog.write { try $0.rename("a", in: .root, to: "mine", in: .root, noReplace: false, settle: 0) }
            engine.changed()
            _ = try? await engine.sync(timeout: 5)
        }
        try provider.base.put("a", "theirs")
        #expect(try await eventually { try mount.names() == ["mine"] && mount.inode("mine").size == 6 })
        try await Task.sleep(for: .milliseconds(200))
        #expect(try mount.names() == ["mine"] && mount.inode("mine").id == inode)
        #expect(provider.base.item(at: "mine")?.identifier == item.identifier)
        #expect(try await mount.engine.sync(timeout: 60).isEmpty)
        await mount.engine.stop()
    }

    /// Whatever others do, in whichever folders somebody has looked: what is shown is where the store has it, and
    /// stays the same inode.
    @Test(arguments: 1...8) func changesAtRandomConverge(_ seed: UInt64) async throws {
        var random = Sequence(seed: seed)
        let provider = AnchoredProvider(pageSize: Int.random(in: 1...6, using: &random))
        let mount = try await mount(provider)
        for _ in 0..<10 {
            let paths = provider.base.snapshot().keys.sorted()
            if let path = paths.randomElement(using: &random), mount.has(path), try mount.inode(path).isFolder {
                try await mount.list(path)
            }
            let before = try Self.shown(mount)
            // So that one answer tells of several changes.
            provider.controls.failures = Array(repeating: .serverUnreachable, count: 1_000)
            for _ in 0..<Int.random(in: 1...6, using: &random) { Self.change(provider.base, &random) }
            provider.controls.failures = []
            try await Self.catchUp(mount, provider)
            let after = try Self.shown(mount)
            for (path, item) in after {
                #expect(provider.base.item(at: path)?.identifier.rawValue == item.identifier, "\(path), seed \(seed)")
                if let old = before.values.first(where: { $0.identifier == item.identifier }) {
                    #expect(old.inode == item.inode, "\(path), seed \(seed)")
                }
            }
            let stored = provider.base.snapshot().keys
            for path in [""] + after.filter(\.value.isListed).keys {
                let names = stored.compactMap { key -> String? in
                    let parent = key.split(separator: "/").dropLast().joined(separator: "/")
                    return parent == path ? key.split(separator: "/").last.map(String.init) : nil
                }
                #expect(try mount.names(path) == names.sorted(), "\(path), seed \(seed)")
            }
        }
        #expect(try await mount.engine.sync(timeout: 60).isEmpty)
        await mount.engine.stop()
    }

    private struct Shown {
        var identifier: String?
        var inode: InodeID
        var isListed: Bool
    }

    private static func shown(_ mount: Mount) throws -> [String: Shown] {
        var all: [String: Shown] = [:]
        var waiting = [("", InodeID.root)]
        while let (path, folder) = waiting.popLast() {
            for entry in try mount.catalog.read({ try $0.children(of: folder, after: 0, limit: 1_000) }) {
                let name = path.isEmpty ? entry.name.string : "\(path)/\(entry.name)"
                let item = try mount.catalog.read { try $0.item(of: entry.inode.id) }
                all[name] = Shown(
                    identifier: item?.identifier?.rawValue, inode: entry.inode.id,
                    isListed: entry.inode.isFolder && entry.inode.isEnumerated)
                if entry.inode.isFolder { waiting.append((name, entry.inode.id)) }
            }
        }
        return all
    }

    private static func change(_ store: InMemoryProvider, _ random: inout Sequence) {
        let paths = store.snapshot().keys.sorted()
        func name() -> String { String("abcde".randomElement(using: &random)!) }
        func place() -> String {
            let folders = [""] + paths.filter { store.read($0) == nil }
            let folder = folders.randomElement(using: &random)!
            return folder.isEmpty ? name() : "\(folder)/\(name())"
        }
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3: _ = try? store.put(place(), Array(name().utf8))
        case 3..<5: _ = try? store.mkdir(place())
        case 5..<9: if let path = paths.randomElement(using: &random) { _ = try? store.rename(path, to: place()) }
        default: if let path = paths.randomElement(using: &random) { try? store.remove(path) }
        }
    }

    /// Until all pages of an answer that was begun after now are taken: the next run has begun then.
    private static func catchUp(_ mount: Mount, _ provider: AnchoredProvider) async throws {
        func runs() -> Int { provider.questions.filter { !$0.contains("@") }.count }
        let before = runs()
        #expect(try await eventually { runs() >= before + 2 })
    }

    /// SplitMix64.
    private struct Sequence: RandomNumberGenerator {
        var state: UInt64
        init(seed: UInt64) { state = seed }
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    @Test func withoutSignalsEverythingIsAskedForNowAndThen() async throws {
        let provider = DeafProvider()
        try provider.base.put("a", "A")
        let mount = try Mount(provider, directory)
        try await mount.list()
        mount.engine.start()
        try provider.base.put("b", "B")
        #expect(try await eventually { try mount.names() == ["a", "b"] })
        try provider.base.put("c", "C")
        #expect(try await eventually { try mount.names() == ["a", "b", "c"] })
        await mount.engine.stop()
    }

    @Test func itemsThatCannotBeAreLeftOut() async throws {
        let provider = AnchoredProvider()
        let mount = try Mount(provider, directory)
        try await mount.list()
        func item(_ identifier: String, _ name: Filename, in parent: ItemIdentifier = .rootContainer, size: Int64 = 1)
            -> Item
        {
            Item(
                identifier: ItemIdentifier(identifier), parentIdentifier: parent, filename: name, kind: .document,
                size: size, contentModificationDate: FileTime(seconds: 1),
                version: ItemVersion(content: ContentVersion("1"), metadata: MetadataVersion("1")))
        }
        let result = try mount.catalog.write { writer in
            try writer.mergeChanges(
                updated: [
                    item("1", ".."), item("2", "a/b"), item("3", "negative", size: -1), item("4", "good"),
                    item("5", "lost", in: ItemIdentifier("nowhere")), item("", "nameless"),
                ], deleted: [ItemIdentifier("nobody"), .rootContainer],
                defaults: PlaceholderDefaults(uid: 0, gid: 0))
        }
        #expect(result.refused.count == 4)
        #expect(result.missing.isEmpty)
        #expect(try mount.names() == ["good"])
    }
}

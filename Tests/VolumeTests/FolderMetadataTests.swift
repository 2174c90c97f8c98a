import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import ItemCatalog
import MountHarness
import SyncEngine
import Synchronization
import Testing
import Trees
import Volume

/// A store that does as a file system does for an ordinary user: no entry of a folder comes, goes or is replaced without its
/// owner's `w` and `x`, and each that does gives the folder another date.
private final class UsersStore: ForwardingProvider, MetadataUpdating {
    let base = InMemoryProvider()
    private let state = Mutex<(refused: Int, sent: [(Filename, UInt16?)])>((0, []))
    /// A folder that is to get another mode than the answer says: as if two changes of it had come at once.
    let closes = Mutex<Filename?>(nil)

    /// How often something was refused.
    var refused: Int { state.withLock { $0.refused } }
    /// Metadata that came by themselves: of what, and the mode.
    var sent: [(Filename, UInt16?)] { state.withLock { $0.sent } }

    private func change(
        _ folder: ItemIdentifier, _ body: () async throws(FileProviderError) -> Item?
    ) async throws(FileProviderError) -> Item? {
        let before = try await base.providePlaceholder(for: folder)
        if let mode = before.posixPermissions, mode & 0o300 != 0o300 {
            state.withLock { $0.refused += 1 }
            throw FileProviderError(.permissionDenied, "\(before.filename): Permission denied")
        }
        let made = try await body()
        guard folder != .rootContainer else { return made }
        let now = try await base.providePlaceholder(for: folder)
        _ = try await base.updateMetadata(
            folder, to: ItemMetadata(contentModificationDate: FileTime(seconds: 2_000_000_000)),
            baseVersion: now.version)
        return made
    }

    private func folder(of identifier: ItemIdentifier) async throws(FileProviderError) -> ItemIdentifier {
        try await base.providePlaceholder(for: identifier).parentIdentifier
    }

    func createItem(_ template: ItemTemplate, contents: (any ContentSource)?) async throws(FileProviderError) -> Item {
        try await change(template.parentIdentifier) { () async throws(FileProviderError) in
            try await base.createItem(template, contents: contents)
        }!
    }

    func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await change(try await folder(of: identifier)) { () async throws(FileProviderError) in
            try await base.itemChanged(identifier, contents: contents, metadata: metadata, baseVersion: baseVersion)
        }!
    }

    func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        let from = try await self.folder(of: identifier)
        return try await change(from) { () async throws(FileProviderError) in
            try await change(folder) { () async throws(FileProviderError) in
                try await base.moveItem(identifier, to: folder, as: filename, baseVersion: baseVersion)
            }
        }!
    }

    func deleteItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(FileProviderError) {
        _ = try await change(try await folder(of: identifier)) { () async throws(FileProviderError) in
            try await base.deleteItem(identifier, baseVersion: baseVersion)
            return nil
        }
    }

    func updateMetadata(
        _ identifier: ItemIdentifier, to metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        let now = try await base.providePlaceholder(for: identifier)
        state.withLock { $0.sent.append((now.filename, metadata.posixPermissions)) }
        let answer = try await base.updateMetadata(identifier, to: metadata, baseVersion: now.version)
        if closes.withLock({ $0 == now.filename ? exchange(&$0, with: nil) : nil }) != nil {
            var closed = metadata
            closed.posixPermissions = 0o555
            _ = try await base.updateMetadata(identifier, to: closed, baseVersion: answer.version)
        }
        return answer
    }
}

/// A folder's mode and date come after what is in it.
@Suite(.timeLimit(.minutes(5))) struct FolderMetadataTests {
    private static let date: Int64 = 1_000_000_000_000_000_123

    private func expect(_ path: String, _ mode: UInt16, dated: Bool = true, in store: UsersStore) {
        let item = store.base.item(at: path)
        #expect(item?.posixPermissions == mode, "\(path)")
        if dated { #expect(item?.contentModificationDate.nanoseconds == Self.date, "\(path)") }
    }

    /// Go's module cache, as `cp -a` copies it.
    private func copy(_ files: some FileSystemUnderTest) throws {
        try files.mkdir("cache", 0o700)
        try files.mkdir("cache/inner", 0o700)
        for name in ["a", "b"] {
            try files.put(FSPath("cache/inner/\(name)"), "text")
            try files.put(FSPath("cache/\(name)"), "text")
        }
        for folder: FSPath in ["cache/inner", "cache"] {
            try files.setModified(folder, Self.date)
            try files.chmod(folder, 0o555)
        }
    }

    @Test(arguments: [0, 60])
    func aTreeOfReadOnlyFoldersArrives(settle: Double) async throws {
        var times = SyncTimes.quick
        times.settle = settle
        let provider = UsersStore()
        try await withStore(provider, times: times) { store throws in
            try copy(store.files)
            #expect(try store.sync().isEmpty)
            #expect(provider.base.read("cache/inner/b") == Array("text".utf8))
            expect("cache", 0o555, in: provider)
            expect("cache/inner", 0o555, in: provider)
            #expect(try store.files.stat("cache").mode == 0o555)
            // Nothing was refused where all of it waited to be sent.
            if settle > 0 { #expect(provider.refused == 0) }
        }
    }

    @Test func oneThatIsMadeReadOnlyStaysSo() async throws {
        let provider = UsersStore()
        try await withStore(provider) { store throws in
            try store.files.mkdir("closed", 0o555)
            #expect(try store.sync().isEmpty)
            expect("closed", 0o555, dated: false, in: provider)
        }
    }

    @Test func whatIsSentLaterOpensTheFolderForAMoment() async throws {
        let provider = UsersStore()
        try await withStore(provider) { store throws in
            let files = store.files
            try copy(files)
            #expect(try store.sync().isEmpty)
            // The superuser, or one who made it writable for a moment.
            try files.put("cache/new", "new")
            try files.append("cache/a", "more")
            try files.unlink("cache/b")
            try files.rename("cache/inner/a", to: "out", noReplace: true)
            #expect(try store.sync().isEmpty)
            #expect(provider.base.read("cache/new") == Array("new".utf8))
            #expect(provider.base.read("cache/a") == Array("textmore".utf8))
            #expect(provider.base.read("out") == Array("text".utf8))
            #expect(provider.base.item(at: "cache/b") == nil)
            expect("cache", 0o555, dated: false, in: provider)
            expect("cache/inner", 0o555, dated: false, in: provider)
        }
    }

    @Test func aFolderIsMadeWritableAndTakenAway() async throws {
        let provider = UsersStore()
        try await withStore(provider) { store throws in
            let files = store.files
            try copy(files)
            #expect(try store.sync().isEmpty)
            for folder: FSPath in ["cache", "cache/inner"] { try files.chmod(folder, 0o755) }
            for name in ["cache/inner/a", "cache/inner/b", "cache/a", "cache/b"] { try files.unlink(FSPath(name)) }
            try files.rmdir("cache/inner")
            try files.rmdir("cache")
            #expect(try store.sync().isEmpty)
            #expect(provider.base.item(at: "cache") == nil)
        }
    }

    /// The catalog takes the folder for writable; the store does not.
    @Test func aFolderThatIsClosedWithoutTheCatalogKnowingIsOpened() async throws {
        let provider = UsersStore()
        try await withStore(provider) { store throws in
            let files = store.files
            try files.mkdir("folder", 0o755)
            try files.put("folder/a", "text")
            try files.put("folder/b", "text")
            #expect(try store.sync().isEmpty)
            provider.closes.withLock { $0 = "folder" }
            try files.chmod("folder", 0o775)
            #expect(try store.sync().isEmpty)
            try files.unlink("folder/a")
            #expect(try store.sync().isEmpty)
            #expect(provider.refused == 1)
            #expect(provider.base.item(at: "folder/a") == nil)
        }
    }

    @Test func aDateThatNoProgramHasSetIsNotSentAfterwards() async throws {
        let provider = UsersStore()
        try await withStore(provider) { store throws in
            try store.files.mkdir("plain", 0o755)
            try store.files.put("plain/a", "a")
            #expect(try store.sync().isEmpty)
            #expect(provider.sent.isEmpty)
        }
    }

    /// What the store refuses for good keeps the folder from nothing; when it is taken at last, the date comes again.
    @Test func whatIsRefusedDoesNotKeepTheFolderWaiting() async throws {
        let provider = Choosy()
        try await withStore(provider) { store throws in
            let files = store.files
            try files.mkdir("folder", 0o755)
            #expect(try store.sync().isEmpty)
            provider.refuses.store(true, ordering: .relaxed)
            try files.put("folder/new", "new")
            try waitUntil(30, "the refusal") {
                try store.catalog.read { try $0.allPending(limit: 9) }.first?.failure != nil
            }
            try files.setModified("folder", Self.date)
            try waitUntil(30, "the date") {
                provider.base.item(at: "folder")?.contentModificationDate.nanoseconds == Self.date
            }
            provider.refuses.store(false, ordering: .relaxed)
            let before = provider.base.calls(of: .updateMetadata).count
            #expect(try store.sync().isEmpty)
            #expect(provider.base.read("folder/new") == Array("new".utf8))
            #expect(provider.base.calls(of: .updateMetadata).count == before + 1)
        }
    }

    private final class Choosy: ForwardingProvider, MetadataUpdating {
        let base = InMemoryProvider()
        let refuses = Atomic(false)

        func createItem(
            _ template: ItemTemplate, contents: (any ContentSource)?
        ) async throws(FileProviderError) -> Item {
            if refuses.load(ordering: .relaxed) { throw FileProviderError(.invalidName, "not this name") }
            return try await base.createItem(template, contents: contents)
        }

        func updateMetadata(
            _ identifier: ItemIdentifier, to metadata: ItemMetadata, baseVersion: ItemVersion
        ) async throws(FileProviderError) -> Item {
            try await base.updateMetadata(identifier, to: metadata, baseVersion: baseVersion)
        }
    }

    @Test func aModeThatTheStoreDoesNotLetBeIsRefused() async throws {
        let provider = ScriptedProvider()
        try provider.base.mkdir("folder")
        try provider.base.put("doc", "text")
        let noAdding = ItemCapabilities.all.subtracting(.addingSubItems)
        provider.edit { $0.capabilities = ["folder": noAdding, "doc": .all.subtracting(.reading)] }
        try await withStore(provider) { store throws in
            #expect(failure { try store.files.chmod("folder", 0o755) } == EACCES)
            #expect(failure { try store.files.chmod("doc", 0o600) } == EACCES)
            try store.files.chmod("folder", 0o511)
            #expect(try store.files.stat("folder").mode == 0o511)
        }
    }
}

import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import ItemCatalog
import MountHarness
import SyncEngine
import Testing
import Trees
import Volume

/// What is deleted goes to the store's trash, where it has one.
@Suite(.timeLimit(.minutes(10))) struct StoreTrashTests {
    private static func provider() throws -> TrashProvider {
        let provider = TrashProvider()
        for name in ["a", "b", "folder/inner"] { try provider.base.put(name, name) }
        return provider
    }

    @Test func aDeletionGoesThereAndATreeItemByItem() async throws {
        let provider = try Self.provider()
        try await withStore(provider) { store throws in
            try store.files.unlink("a")
            try store.files.unlink("folder/inner")
            try store.files.rmdir("folder")
            try store.files.rename("b", to: "c", noReplace: false)
            #expect(try store.sync().isEmpty)
            #expect(provider.trashed.sorted() == ["a", "folder", "inner"])
            #expect(provider.trashed.filter { $0 != "a" } == ["inner", "folder"])
            #expect(provider.base.snapshot().keys.sorted() == ["c"])
        }
    }

    @Test func aDocumentThatAnotherReplacesGoesThereToo() async throws {
        let provider = try Self.provider()
        try await withStore(provider) { store throws in
            _ = try store.files.list(.root)
            try store.files.rename("a", to: "b", noReplace: false)
            #expect(try store.sync().isEmpty)
            #expect(provider.trashed == ["b"])
            #expect(provider.base.read("b") == Array("a".utf8))
            #expect(provider.base.item(at: "a") == nil)
        }
    }

    @Test func whatCannotBeTrashedIsDeleted() async throws {
        let provider = try Self.provider()
        provider.refuse(.unsupported)
        try await withStore(provider) { store throws in
            try store.files.unlink("a")
            #expect(try store.sync().isEmpty)
            #expect(provider.base.item(at: "a") == nil)
            #expect(provider.base.calls(of: .deleteItem).count == 1)
        }
    }

    @Test func theSameAnswersAreConflictsAsOfADeletion() async throws {
        let provider = try Self.provider()
        try await withStore(provider) { store throws in
            // Said to be gone, and there all the same: asked again.
            _ = try store.files.list(.root)
            provider.refuse(.noSuchItem)
            try store.files.unlink("a")
            try waitUntil(10, "it was refused") { try store.sync(limit: 0.5).map(\.failure?.code) == ["busy"] }
            // Gone there already: what was wanted.
            try provider.base.remove("a")
            #expect(try store.sync().isEmpty)
            // Said to be changed, and as it was: asked again.
            provider.refuse(.versionMismatch)
            try store.files.unlink("b")
            try waitUntil(10, "it was refused") { try store.sync(limit: 0.5).map(\.failure?.code) == ["busy"] }
            // Changed there: shown again.
            try provider.base.put("b", "b")
            #expect(try store.sync().isEmpty)
            #expect(try store.files.text("b") == "b")
            // Any other failure is tried again.
            provider.refuse(.busy)
            try store.files.unlink("b")
            try waitUntil(10, "it was refused") { try store.sync(limit: 0.5).map(\.failure?.code) == ["busy"] }
            provider.refuse(nil)
            #expect(try store.sync().isEmpty)
            #expect(provider.trashed == ["b"])
        }
    }

    /// A temporary file that lay still long enough to be sent is not worth keeping.
    @Test(arguments: [10, 0]) func whatWasMadeMomentsAgoIsJustDeleted(briefLife: Double) async throws {
        let provider = try Self.provider()
        var times = SyncTimes.quick
        times.briefLife = briefLife
        try await withStore(provider, times: times) { store throws in
            try store.files.write("temporary", [1], at: 0, flags: O_CREAT)
            #expect(try store.sync().isEmpty)
            try store.files.unlink("temporary")
            #expect(try store.sync().isEmpty)
            #expect(provider.base.item(at: "temporary") == nil)
            #expect(provider.trashed == (briefLife == 0 ? ["temporary"] : []))
        }
    }

    /// A file manager is to offer a deletion, which goes to the store's trash.
    @Test(arguments: [".Trash", ".Trash-0", ".Trash-1000"]) func noOtherTrashIsMade(name: String) async throws {
        let provider = try Self.provider()
        try await withStore(provider) { store throws in
            let (files, path) = (store.files, FSPath(name))
            #expect(failure { try files.mkdir(path, 0o700) } == EPERM)
            #expect(failure { try files.symlink(path, to: [0x61]) } == EPERM)
            #expect(failure { try files.write(path, [1], at: 0, flags: O_CREAT) } == EPERM)
            #expect(failure { try files.rename("folder", to: path, noReplace: false) } == EPERM)
            // Elsewhere it is a name like others.
            try files.mkdir("folder/.Trash", 0o700)
            #expect(try store.sync().isEmpty)
            #expect(provider.base.item(at: "folder/.Trash") != nil)
        }
    }
}

/// The trash that file managers make in the topmost folder, over a store that has none.
@Suite(.timeLimit(.minutes(10))) struct LocalTrashTests {
    typealias Provider = FaultInjectingProvider<InMemoryProvider>

    private static func provider() throws -> Provider {
        let provider = Provider(InMemoryProvider(pageSize: 50))
        try provider.base.put("doc", "text")
        try provider.base.put("folder/inner", "inner")
        try provider.base.put("folder/deep/deeper", "deeper")
        try provider.base.link("folder/link", to: "inner")
        return provider
    }

    private static func makeTrash(_ store: InProcessStore) throws {
        for path: FSPath in [".Trash-0", ".Trash-0/files", ".Trash-0/info"] { try store.files.mkdir(path, 0o700) }
        try store.files.write(".Trash-0/info/doc.trashinfo", Array("[Trash Info]".utf8), at: 0, flags: O_CREAT)
    }

    @Test func aDocumentComesHereBeforeItIsDeletedThereAndIsNewWhenRestored() async throws {
        let provider = try Self.provider()
        try await withStore(provider) { store throws in
            let files = store.files
            try Self.makeTrash(store)
            let number = try files.stat("doc").inode
            try files.rename("doc", to: ".Trash-0/files/doc", noReplace: true)
            #expect(provider.base.calls(of: .startProvidingItem).count == 1)
            #expect(try store.sync().isEmpty)
            #expect(
                provider.base.snapshot().keys.sorted() == [
                    "folder", "folder/deep", "folder/deep/deeper",
                    "folder/inner", "folder/link",
                ])
            #expect(try files.stat(".Trash-0/files/doc").inode == number)
            #expect(try files.text(".Trash-0/files/doc") == "text")
            // It may be changed and moved there, and stays here.
            try files.write(".Trash-0/files/doc", Array("T".utf8), at: 0, flags: 0)
            try files.rename(".Trash-0/files/doc", to: ".Trash-0/files/doc.2", noReplace: false)
            #expect(try store.sync().isEmpty)
            #expect(provider.base.calls(of: .createItem).isEmpty)
            try files.rename(".Trash-0/files/doc.2", to: "folder/restored", noReplace: false)
            #expect(try store.sync().isEmpty)
            #expect(provider.base.read("folder/restored") == Array("Text".utf8))
            try files.unlink(".Trash-0/info/doc.trashinfo")
            #expect(try store.sync().isEmpty)
        }
    }

    @Test func aFolderOfPlaceholdersAsWell() async throws {
        let provider = try Self.provider()
        try await withStore(provider) { store throws in
            let files = store.files
            try Self.makeTrash(store)
            try files.rename("folder", to: ".Trash-0/files/folder", noReplace: true)
            #expect(try store.sync().isEmpty)
            #expect(provider.base.snapshot().keys.sorted() == ["doc"])
            #expect(try files.text(".Trash-0/files/folder/deep/deeper") == "deeper")
            #expect(try files.readlink(".Trash-0/files/folder/link") == Array("inner".utf8))
            try files.rename(".Trash-0/files/folder", to: "folder", noReplace: true)
            #expect(try store.sync().isEmpty)
            #expect(provider.base.read("folder/deep/deeper") == Array("deeper".utf8))
            #expect(provider.base.snapshot()["folder/link"] == .link(target: Array("inner".utf8)))
            #expect(
                provider.base.snapshot().keys.sorted() == [
                    "doc", "folder", "folder/deep", "folder/deep/deeper",
                    "folder/inner", "folder/link",
                ])
        }
    }

    /// Nothing is lost, nothing is deleted there, and it says why.
    @Test(arguments: ["doc", "folder"]) func withoutTheStoreItStaysWhereItIs(name: String) async throws {
        let provider = try Self.provider()
        try await withStore(provider) { store throws in
            let files = store.files
            try Self.makeTrash(store)
            _ = try files.list("folder")
            let before = provider.base.snapshot()
            provider.plan.isOffline = true
            let refusal = failure {
                try files.rename(FSPath(name), to: ".Trash-0/files/x", noReplace: true)
            }
            #expect(refusal == EHOSTUNREACH)
            provider.plan.isOffline = false
            #expect(try store.sync().isEmpty)
            #expect(provider.base.snapshot() == before)
            #expect(try files.text("doc") == "text" && files.text("folder/inner") == "inner")
            #expect(try files.list(".Trash-0/files").isEmpty)
            // Nor by a rename that is refused for another reason.
            try files.write(".Trash-0/files/x", [1], at: 0, flags: O_CREAT)
            let taken = failure {
                try files.rename(FSPath(name), to: ".Trash-0/files/x", noReplace: true)
            }
            #expect(taken == EEXIST)
            #expect(try store.sync().isEmpty)
            #expect(provider.base.snapshot() == before)
        }
    }

    @Test func whatIsNotSentYetIsNeverSent() async throws {
        let provider = try Self.provider()
        var times = SyncTimes.quick
        times.settle = 60
        try await withStore(provider, times: times) { store throws in
            let files = store.files
            try Self.makeTrash(store)
            try files.write("new", [1], at: 0, flags: O_CREAT)
            try files.write("doc", Array("changed".utf8), at: 0, flags: O_TRUNC)
            try files.mkdir("fresh", 0o755)
            try files.write("fresh/x", [2], at: 0, flags: O_CREAT)
            for name in ["new", "doc", "fresh"] {
                try files.rename(FSPath(name), to: FSPath(".Trash-0/files/" + name), noReplace: true)
            }
            #expect(try store.sync().isEmpty)
            #expect(provider.base.calls(of: .createItem).isEmpty && provider.base.calls(of: .itemChanged).isEmpty)
            #expect(provider.base.item(at: "doc") == nil)
            #expect(try files.text(".Trash-0/files/doc") == "changed")
            #expect(try files.readAll(".Trash-0/files/fresh/x") == [2])
        }
    }

    /// A name outside keeps the document in the store.
    @Test func ofAHardLinkTheOtherNameStays() async throws {
        let provider = try Self.provider()
        try await withStore(provider) { store throws in
            let files = store.files
            try Self.makeTrash(store)
            let identifier = provider.base.item(at: "doc")?.identifier
            let doc = try #require(try files.found("doc"))
            guard case .ready = try store.volume.link(doc, to: "second", in: .root) else {
                Issue.record("a link waits")
                return
            }
            let trash = try #require(try files.found(".Trash-0"))
            #expect(throws: VolumeError.self) { _ = try store.volume.link(doc, to: "third", in: trash) }
            try files.rename("doc", to: ".Trash-0/files/doc", noReplace: true)
            #expect(try store.sync().isEmpty)
            #expect(provider.base.item(at: "second")?.identifier == identifier)
            #expect(provider.base.item(at: "doc") == nil)
            #expect(try files.text(".Trash-0/files/doc") == "text" && files.text("second") == "text")
        }
    }

    @Test func whatMayNotBeDeletedIsNotMovedThere() async throws {
        let provider = ScriptedProvider()
        try provider.base.put("folder/kept", "kept")
        try provider.base.put("folder/other", "other")
        provider.edit { $0.capabilities["kept"] = [.reading, .writing, .renaming] }
        try await withStore(provider) { store throws in
            try Self.makeTrash(store)
            for path: FSPath in ["folder/kept", "folder"] {
                let refusal = failure {
                    try store.files.rename(path, to: ".Trash-0/files/x", noReplace: true)
                }
                #expect(refusal == EACCES)
            }
            #expect(try store.sync().isEmpty)
            #expect(provider.base.snapshot().count == 3)
        }
    }

    /// A trash that another machine left in the store is not shown, so that the one here stays here.
    @Test func theTrashOfAnotherMachineIsNotShown() async throws {
        let provider = try Self.provider()
        try provider.base.put(".Trash-0/files/theirs", "theirs")
        try provider.base.put("folder/.Trash-0", "a name like others")
        try await withStore(provider) { store throws in
            #expect(try Set(store.files.list(.root)) == [Array("doc".utf8), Array("folder".utf8)])
            #expect(try store.files.list("folder").contains(Array(".Trash-0".utf8)))
            try Self.makeTrash(store)
            try store.files.rename("doc", to: ".Trash-0/files/doc", noReplace: true)
            #expect(try store.sync().isEmpty)
            #expect(provider.base.read(".Trash-0/files/theirs") == Array("theirs".utf8))
            #expect(provider.base.item(at: ".Trash-0/files/doc") == nil)
            let summary = store.volume.engine.refused.summary(of: .root)
            let reason = "a file manager's trash folder is not synced"
            #expect(summary == "1 entry of the store cannot be shown: “.Trash-0” (\(reason))")
        }
    }

    /// Whatever the patterns say.
    @Test func itStaysHereWithoutTheDefaultPatternsToo() throws {
        let directory = NSTemporaryDirectory() + "trash-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let catalog = try Catalog(
            path: directory + "/catalog", domain: "test:", owner: (0, 0), exclusions: Exclusions(patterns: []))
        defer { catalog.close() }
        try catalog.write { writer in
            for name: Filename in [".Trash", ".Trash-1000", ".Trashcan"] {
                let made = try writer.create(
                    NewFile(kind: .folder, mode: 0o700, uid: 0, gid: 0), in: .root, named: name, settle: 0)
                let item = try writer.item(of: made.id)
                #expect(item?.isExcluded == (name != ".Trashcan"))
            }
        }
    }
}

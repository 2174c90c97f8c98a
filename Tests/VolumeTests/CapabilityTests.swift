import FileProvider
import FileProviderTesting
import Glibc
import MountHarness
import SyncEngine
import Testing
import Trees
import Volume

/// What the store does not let be done with an item: the mode says so, and programs are refused, the superuser's too.
@Suite(.timeLimit(.minutes(10))) struct CapabilityTests {
    private static func provider(_ capabilities: [Filename: ItemCapabilities] = [:]) throws -> ScriptedProvider {
        let provider = ScriptedProvider()
        try provider.base.put("doc", "text")
        try provider.base.put("other", "other")
        try provider.base.put("folder/inner", "inner")
        try provider.base.mkdir("empty")
        try provider.base.link("link", to: "doc")
        provider.edit { $0.capabilities = capabilities }
        return provider
    }

    /// Nothing is sent before it is asked for.
    private static var late: SyncTimes {
        var times = SyncTimes.quick
        times.settle = 60
        return times
    }

    private static func all(without gone: ItemCapabilities) -> ItemCapabilities { .all.subtracting(gone) }

    /// The topmost folder is asked for in the background.
    private static func waitForRoot(_ store: InProcessStore, _ mode: UInt32) throws {
        try waitUntil(10, "the topmost folder's mode") { try store.files.stat(.root).mode == mode }
    }

    @Test(
        arguments: [
            (.readOnly, 0o444, 0o555), (all(without: .writing), 0o444, 0o755), (all(without: .reading), 0o200, 0o311),
            (all(without: .addingSubItems), 0o644, 0o555), ([], 0o000, 0o111), (.all, 0o644, 0o755),
            (all(without: [.renaming, .deleting]), 0o644, 0o755),
        ] as [(ItemCapabilities, UInt32, UInt32)])
    func theModeSaysSo(_ capabilities: ItemCapabilities, _ document: UInt32, _ folder: UInt32) async throws {
        let provider = try Self.provider(["doc": capabilities, "folder": capabilities, "link": capabilities])
        try await withStore(provider) { store throws in
            #expect(try store.files.stat("doc").mode == document)
            #expect(try store.files.stat("folder").mode == folder)
            #expect(try store.files.stat("link").mode == 0o777)
            #expect(try store.files.stat("other").mode == 0o644)
        }
    }

    @Test func aChangeIsSeenAtOnceAndTheModeItselfIsKept() async throws {
        let provider = try Self.provider()
        try await withStore(provider) { store throws in
            try store.files.chmod("doc", 0o640)
            try store.files.chmod("folder", 0o700)
            #expect(try store.sync().isEmpty)
            let found = try #require(try store.files.found("doc"))
            let before = store.kernel.notices.count
            try provider.allow(.readOnly, at: "doc")
            try provider.allow(.readOnly, at: "folder")
            try waitUntil(10, "doc is read-only") { try store.files.stat("doc").mode == 0o440 }
            try waitUntil(10, "folder is read-only") { try store.files.stat("folder").mode == 0o500 }
            #expect(store.kernel.notices.dropFirst(before).contains(.attributes(found)))
            try provider.allow(.all, at: "doc")
            try provider.allow(Self.all(without: .addingSubItems), at: "folder")
            try waitUntil(10, "doc is writable again") { try store.files.stat("doc").mode == 0o640 }
            // What is hidden is not for those to take away who do not see it.
            try waitUntil(10, "folder may be changed") { failure { try store.files.chmod("folder", 0o511) } == nil }
            #expect(try store.files.stat("folder").mode == 0o511)
            try provider.allow(.all, at: "folder")
            try waitUntil(10, "folder is writable again") { try store.files.stat("folder").mode == 0o711 }
            #expect(try store.sync().isEmpty)
            #expect(provider.base.item(at: "folder")?.posixPermissions == 0o711)
        }
    }

    @Test func withoutReading() async throws {
        let provider = try Self.provider(["doc": Self.all(without: .reading), "folder": [.renaming]])
        try await withStore(provider) { store throws in
            #expect(failure { _ = try store.files.read("doc", at: 0, 4) } == EACCES)
            #expect(failure { _ = try store.files.list("folder") } == EACCES)
        }
    }

    @Test func withoutWriting() async throws {
        let provider = try Self.provider([
            "doc": Self.all(without: .writing), "folder": Self.all(without: .writing),
            "link": Self.all(without: .writing),
        ])
        try await withStore(provider) { store throws in
            let files = store.files
            #expect(try files.readAll("doc") == Array("text".utf8))
            for flags in [O_WRONLY, O_WRONLY | O_TRUNC, O_WRONLY | O_CREAT] {
                #expect(failure { try files.write("doc", [1], at: 0, flags: flags) } == EACCES)
            }
            #expect(failure { try files.truncate("doc", to: 1) } == EACCES)
            for path: FSPath in ["doc", "folder"] {
                #expect(failure { try files.chmod(path, 0o600) } == EACCES)
                #expect(failure { try files.setModified(path, 1) } == EACCES)
            }
            let node = try #require(try files.found("doc"))
            #expect(throws: VolumeError.self) {
                try store.volume.setExtendedAttribute(Array("user.a".utf8), to: [1], of: node, presence: .any)
            }
            // Of this machine only.
            try store.volume.setExtendedAttribute(Array("trusted.a".utf8), to: [1], of: node, presence: .any)
            _ = try store.volume.setAttributes(
                node, to: AttributeRequest(attributes: AttributeChange(uid: 7, gid: 7), size: nil))
            // A folder's entries are a matter of their own.
            try files.write("folder/new", [1], at: 0, flags: O_CREAT)
            try files.rename("doc", to: "renamed", noReplace: false)
            #expect(try store.sync().isEmpty)
            #expect(provider.base.read("renamed") == Array("text".utf8))
        }
    }

    @Test func withoutRenamingOrDeleting() async throws {
        let provider = try Self.provider([
            "doc": Self.all(without: [.renaming, .deleting]), "empty": Self.all(without: [.renaming, .deleting]),
        ])
        try await withStore(provider, times: Self.late) { store throws in
            let files = store.files
            for path: FSPath in ["doc", "empty"] {
                #expect(failure { try files.rename(path, to: "x", noReplace: false) } == EACCES)
                #expect(
                    failure { try files.rename(path, to: "folder/x", noReplace: true) } == EACCES)
            }
            #expect(failure { try files.unlink("doc") } == EACCES)
            _ = try files.list("empty")
            #expect(failure { try files.rmdir("empty") } == EACCES)
            // Another document in its place would delete it.
            #expect(failure { try files.rename("other", to: "doc", noReplace: false) } == EACCES)
            // A save does not.
            try files.write("new", Array("saved".utf8), at: 0, flags: O_CREAT)
            try files.rename("new", to: "doc", noReplace: false)
            let identifier = provider.base.item(at: "doc")?.identifier
            #expect(try store.sync().isEmpty)
            #expect(provider.base.read("doc") == Array("saved".utf8))
            #expect(provider.base.item(at: "doc")?.identifier == identifier)
        }
    }

    @Test func whatMayNotBeWrittenIsReplacedOnlyWhereItMayBeDeleted() async throws {
        let provider = try Self.provider(["doc": .readOnly, "other": [.reading, .deleting]])
        try await withStore(provider, times: Self.late) { store throws in
            let files = store.files
            for name in ["a", "b"] { try files.write(FSPath(name), Array(name.utf8), at: 0, flags: O_CREAT) }
            #expect(failure { try files.rename("a", to: "doc", noReplace: false) } == EACCES)
            let old = provider.base.item(at: "other")?.identifier
            try files.rename("b", to: "other", noReplace: false)
            #expect(try store.sync().isEmpty)
            #expect(provider.base.read("other") == Array("b".utf8))
            #expect(provider.base.item(at: "other")?.identifier != old)
            #expect(provider.base.read("doc") == Array("text".utf8))
        }
    }

    @Test func withoutAdding() async throws {
        let provider = try Self.provider(["folder": Self.all(without: .addingSubItems)])
        try await withStore(provider, times: Self.late) { store throws in
            let files = store.files
            _ = try files.list("folder")
            #expect(
                failure { try files.write("folder/x", [1], at: 0, flags: O_CREAT) } == EACCES)
            #expect(failure { try files.mkdir("folder/x", 0o755) } == EACCES)
            #expect(failure { try files.symlink("folder/x", to: [0x61]) } == EACCES)
            #expect(
                failure { try files.rename("doc", to: "folder/x", noReplace: false) } == EACCES)
            let (doc, folder) = (try #require(try files.found("doc")), try #require(try files.found("folder")))
            #expect(throws: VolumeError.self) { _ = try store.volume.link(doc, to: "x", in: folder) }
            // What programs make for themselves beside a document stays here, so it may be made; a document's name it
            // may not get.
            try files.write("folder/.~lock.inner#", [1], at: 0, flags: O_CREAT)
            #expect(
                failure {
                    try files.rename("folder/.~lock.inner#", to: "folder/x", noReplace: false)
                } == EACCES)
            try files.unlink("folder/.~lock.inner#")
            // What is in it may be changed, also by moving the old version away first, or by a save.
            try files.rename("folder/inner", to: "folder/inner~", noReplace: false)
            try files.write("folder/inner", Array("new".utf8), at: 0, flags: O_CREAT)
            #expect(try store.sync().isEmpty)
            try files.write("saved", Array("newer".utf8), at: 0, flags: O_CREAT)
            try files.rename("saved", to: "folder/inner", noReplace: false)
            #expect(try store.sync().isEmpty)
            #expect(provider.base.read("folder/inner") == Array("newer".utf8))
            #expect(provider.base.snapshot().keys.filter { $0.hasPrefix("folder/") } == ["folder/inner"])
            try files.rename("folder/inner", to: "out", noReplace: false)
            #expect(try store.sync().isEmpty)
            #expect(provider.base.item(at: "out") != nil)
        }
    }

    @Test func theTopmostFolderTellsByItself() async throws {
        let provider = try Self.provider(["": .readOnly])
        try await withStore(provider) { store throws in
            try Self.waitForRoot(store, 0o555)
            #expect(failure { try store.files.mkdir("new", 0o755) } == EACCES)
            try provider.allow(.all, at: "")
            try Self.waitForRoot(store, 0o755)
            try store.files.mkdir("new", 0o755)
            #expect(try store.sync().isEmpty)
        }
    }

    @Test(arguments: [false, true])
    func aWriteThatWasAllowedAtOpenIsKeptAndSentWhenItMay(passthrough: Bool) async throws {
        let provider = try Self.provider()
        try await withStore(provider, passthrough: passthrough) { store throws in
            _ = try store.files.readAll("doc")
            let node = try #require(try store.files.found("doc"))
            let opened = try store.volume.open(node, flags: O_RDWR)
            try provider.allow(.readOnly, at: "doc")
            try waitUntil(10, "doc is read-only") { try store.files.stat("doc").mode == 0o444 }
            #expect(failure { try store.files.truncate("doc", to: 0) } == EACCES)
            // ftruncate(2) is as the open was.
            _ = try store.volume.setAttributes(
                node, to: AttributeRequest(attributes: AttributeChange(), size: 2), through: opened.handle)
            try Array("worked".utf8).withUnsafeBytes { try store.volume.write(opened.handle, $0, at: 2) }
            try store.volume.flush(opened.handle)
            store.volume.close(opened.handle)
            try waitUntil(10, "it was refused") {
                try store.sync(limit: 1).map(\.failure?.code) == ["permissionDenied"]
            }
            #expect(try store.files.readAll("doc") == Array("teworked".utf8))
            try provider.allow(.all, at: "doc")
            try waitUntil(10, "doc is writable") { try store.files.stat("doc").mode == 0o644 }
            #expect(try store.sync().isEmpty)
            #expect(provider.base.read("doc") == Array("teworked".utf8))
        }
    }

    @Test func whatTheStoreDoesNotHaveYetMayEverything() async throws {
        let provider = try Self.provider(["new": .readOnly])
        try await withStore(provider, times: Self.late) { store throws in
            try store.files.write("new", [1], at: 0, flags: O_CREAT)
            #expect(try store.files.stat("new").mode == 0o644)
            try store.files.chmod("new", 0o600)
            try store.files.write("new", [2], at: nil, flags: 0)
            #expect(try store.sync().isEmpty)
            #expect(try store.files.stat("new").mode == 0o400)
            #expect(failure { try store.files.unlink("new") } == EACCES)
        }
    }
}

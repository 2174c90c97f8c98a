import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import MountHarness
import Testing
import Trees

/// What file managers do when something is deleted: `gio trash` is what they are made of (GLib).
@Suite("File managers' trash at a real mount")
struct FileManagerTrashTests {
    /// Not `Debian` and the like only: a machine for tests may lack it.
    private static let gio =
        "command -v gio >/dev/null || { echo 'gio is missing: apt-get install libglib2.0-bin'; exit 9; }\n"

    @Test(
        "the store has no trash: gio trash downloads the document, deletes it in the store, and a move restores it")
    func local() async throws {
        let provider = InMemoryProvider(pageSize: 50)
        try provider.put("letter.txt", "Dear reader,\n")
        try provider.put("folder/inner.txt", "inside\n")
        try await withServedMount(provider) { mount throws in
            try mount.run(Self.gio + "gio trash letter.txt; gio trash folder; ls -A; find .Trash-* | sort")
            #expect(try mount.sync().isEmpty)
            #expect(provider.snapshot().isEmpty)
            let uid = getuid()
            #expect(
                try mount.run("cd .Trash-\(uid); cat files/letter.txt files/folder/inner.txt; stat -c %a .")
                    == "Dear reader,\ninside\n700\n")
            let info = try mount.run("cat .Trash-\(uid)/info/letter.txt.trashinfo")
            #expect(info.hasPrefix("[Trash Info]\nPath=letter.txt\nDeletionDate="))
            // What `gio trash --restore` does, which needs a session's gvfsd.
            try mount.run("cd .Trash-\(uid); mv -n files/folder files/letter.txt ..; rm info/*")
            #expect(try mount.sync().isEmpty)
            #expect(provider.read("letter.txt") == Array("Dear reader,\n".utf8))
            #expect(provider.read("folder/inner.txt") == Array("inside\n".utf8))
            #expect(provider.snapshot().keys.sorted() == ["folder", "folder/inner.txt", "letter.txt"])
        }
    }

    @Test(
        "the store has a trash: gio trash says clearly that it cannot, downloads nothing, and rm moves to the store's trash"
    )
    func ofTheStore() async throws {
        let provider = TrashProvider()
        try provider.base.put("letter.txt", "Dear reader,\n")
        try await withServedMount(provider) { mount throws in
            let refused = try mount.shell(Self.gio + "gio trash letter.txt")
            #expect(
                refused.status == 1 && refused.stdout.contains("Unable to find or create trash directory"), "\(refused)"
            )
            #expect(try mount.run("ls -A; mkdir .Trash-0 && exit 1 || true").contains("Operation not permitted"))
            #expect(provider.base.calls(of: .startProvidingItem).isEmpty)
            try mount.run("rm letter.txt")
            #expect(try mount.sync().isEmpty)
            #expect(provider.trashed == ["letter.txt"])
        }
    }

    @Test("over a directory, with the real command: moved to the trash and back", arguments: [MountOptions(), .cached])
    func directory(_ options: MountOptions) async throws {
        try await withMount(options) { store throws in
            try Seeding(store).file("letter.txt", "Dear reader,\n")
            try Seeding(store).file("folder/inner.txt", "inside\n")
        } _: { mount throws in
            try mount.run(Self.gio + "gio trash letter.txt folder")
            try mount.sync()
            #expect(try mount.run("ls -A \"$STORE\"") == "")
            #expect(
                try mount.run("cat .Trash-*/files/letter.txt .Trash-*/files/folder/inner.txt")
                    == "Dear reader,\ninside\n")
            try mount.remount()
            try mount.run("mv .Trash-*/files/folder .Trash-*/files/letter.txt .")
            try mount.sync()
            #expect(
                try mount.run("cd \"$STORE\"; cat letter.txt folder/inner.txt; ls -A")
                    == "Dear reader,\ninside\nfolder\nletter.txt\n")
        }
    }
}

import ControlAPI
import Foundation
import MountHarness
import Testing

/// renameat2(2) with RENAME_EXCHANGE.
@Suite("Exchanging two names at a real mount")
struct ExchangeTests {
    static let modes = [MountOptions(), .cached]
    static func seed(_ store: String) throws {
        try Seeding(store).file("a.txt", "alpha\n")
        try Seeding(store).file("folder/b.txt", "beta\n")
        try Seeding(store).file("folder/deep/c.txt", "gamma\n")
    }

    @Test("two documents of the store: each keeps its identifier under its new name", arguments: modes, [true, false])
    func documents(_ options: MountOptions, isRead: Bool) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run("find . -type f >/dev/null")
            if isRead { try mount.run("cat a.txt folder/b.txt >/dev/null") }
            let before = try mount.statuses(["a.txt", "folder/b.txt"]).map(\.identifier)
            let inodes = try mount.python(
                """
                before = [os.stat(name).st_ino for name in ["a.txt", "folder/b.txt"]]
                rename2("a.txt", "folder/b.txt", 2)
                print([os.stat(name).st_ino for name in ["folder/b.txt", "a.txt"]] == before)
                """)
            #expect(inodes == "True\n")
            #expect(try mount.run("cat a.txt folder/b.txt") == "beta\nalpha\n")
            try mount.sync()
            #expect(try mount.run("cd \"$STORE\"; cat a.txt folder/b.txt") == "beta\nalpha\n")
            #expect(try mount.statuses(["folder/b.txt", "a.txt"]).map(\.identifier) == before)
            try mount.requireSameAsStore()
        }
    }

    @Test(
        "a document and a folder, a folder and a link: the link counts above follow", .notOverWebDAV("symbolic links"))
    func kinds() async throws {
        try await withMount(seed: Self.seed) { mount in
            let shown = try mount.python(
                """
                os.listdir("folder/deep")
                print(os.stat(".").st_nlink, os.stat("folder").st_nlink)
                rename2("a.txt", "folder/deep", 2)
                print(os.stat(".").st_nlink, os.stat("folder").st_nlink)
                print(read("folder/deep"), read("a.txt/c.txt"))
                os.symlink("nowhere", "link")
                rename2("link", "a.txt", 2)
                print(os.readlink("a.txt"), read("link/c.txt"))
                """)
            #expect(shown == "3 3\n4 2\nb'alpha\\n' b'gamma\\n'\nnowhere b'gamma\\n'\n")
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    @Test("a new version exchanged with the document is a save", arguments: modes)
    func save(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run("cat a.txt >/dev/null")
            let identifier = try mount.status("a.txt").identifier
            try mount.python(
                """
                write("a.new", b"new alpha\\n")
                rename2("a.new", "a.txt", 2)
                os.unlink("a.new")
                """)
            #expect(try mount.run("cat a.txt; ls") == "new alpha\na.txt\nfolder\n")
            try mount.sync()
            #expect(try mount.status("a.txt").identifier == identifier)
            try mount.requireSameAsStore()
        }
    }

    @Test("exchanged there and back again, over a remount")
    func twice() async throws {
        try await withMount(.lateUploads, seed: Self.seed) { mount in
            try mount.python("rename2('a.txt', 'folder/b.txt', 2)")
            try mount.kill9()
            try mount.mount()
            #expect(try mount.run("cat a.txt folder/b.txt") == "beta\nalpha\n")
            try mount.python("rename2('folder/b.txt', 'a.txt', 2)")
            try mount.sync()
            #expect(try mount.run("cd \"$STORE\"; cat a.txt folder/b.txt") == "alpha\nbeta\n")
            try mount.requireSameAsStore()
        }
    }

    @Test("exchanges are refused as by ext4")
    func refused() async throws {
        try await withMount(seed: Self.seed) { mount in
            let shown = try mount.python(
                """
                print(fails(rename2, "a.txt", "nothing", 2))
                print(fails(rename2, "nothing", "a.txt", 2))
                print(fails(rename2, "folder", "folder/deep", 2))
                print(fails(rename2, "folder/deep", "folder", 2))
                print(fails(rename2, "a.txt", "folder/b.txt", 3))
                print(fails(rename2, "a.txt", "folder/b.txt", 1))
                print(fails(rename2, "a.txt", "a.txt", 2))
                print(sorted(os.listdir(".")))
                """)
            #expect(shown == "ENOENT\nENOENT\nEINVAL\nEINVAL\nEINVAL\nEEXIST\nok\n['a.txt', 'folder']\n")
        }
    }
}

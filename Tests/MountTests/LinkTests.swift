import ControlAPI
import FileProviderTesting
import Foundation
import MountHarness
import Testing

/// One file with several names, of which the store has one.
@Suite("Hard links at a real mount")
struct LinkTests {
    static let modes = [MountOptions(), .cached]
    static func seed(_ store: String) throws {
        try Seeding(store).file("letter.txt", "Dear reader,\n", modified: 1_600_000_000)
        try Seeding(store).file("folder/inner.txt", "inside\n")
    }

    /// The hooks that change the store.
    private static func changes(_ mount: MountedStore) -> [Hook] {
        mount.hookCalls().map(\.hook).filter {
            [.itemChanged, .createItem, .moveItem, .deleteItem, .updateMetadata].contains($0)
        }
    }

    private static func names(_ mount: MountedStore) throws -> [String] {
        try mount.run("cd \"$STORE\"; find . -mindepth 1 -not -name '.hydrant-*' -printf '%P\\n' | sort")
            .split(separator: "\n").map(String.init)
    }

    @Test("both names are one file; the store has one of them", arguments: modes)
    func twoNames(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let shown = try mount.python(
                """
                os.link("letter.txt", "folder/second")
                os.link("folder/second", "third")
                print(len({os.stat(name).st_ino for name in ["letter.txt", "folder/second", "third"]}))
                print([os.stat(name).st_nlink for name in ["letter.txt", "folder/second", "third"]])
                append("third", b"and all the others\\n")
                write("folder/second", b"Dead", 0)
                print(read("letter.txt"))
                os.chmod("letter.txt", 0o640)
                print(oct(os.stat("third").st_mode))
                os.unlink("third")
                print(os.stat("letter.txt").st_nlink, sorted(os.listdir(".")))
                """)
            #expect(
                shown == """
                    1
                    [3, 3, 3]
                    b'Dead reader,\\nand all the others\\n'
                    0o100640
                    2 ['folder', 'letter.txt']

                    """)
            try mount.sync()
            #expect(try Self.names(mount) == ["folder", "folder/inner.txt", "letter.txt"])
            #expect(try Seeding(mount.store).text("letter.txt") == "Dead reader,\nand all the others\n")
            #expect(
                try mount.run("stat -c '%h' letter.txt; cat folder/second") == "2\nDead reader,\nand all the others\n")
        }
    }

    @Test("links are refused as by ext4")
    func refused() async throws {
        try await withMount(seed: Self.seed) { mount in
            let shown = try mount.python(
                """
                print(fails(os.link, "letter.txt", "folder/inner.txt"))
                print(fails(os.link, "folder", "folder2"))
                print(fails(os.link, "nothing", "second"))
                print(fails(os.link, "letter.txt", "nowhere/second"))
                print(fails(os.link, "letter.txt", "x" * 256))
                os.symlink("letter.txt", "symbolic")
                os.link("symbolic", "symbolic2", follow_symlinks=False)
                print(os.lstat("symbolic").st_nlink, os.readlink("symbolic2"))
                file = os.open("letter.txt", os.O_RDWR)
                os.link("letter.txt", "second")
                os.unlink("letter.txt"); os.unlink("second")
                print(os.fstat(file).st_nlink, os.pread(file, 4, 0))
                def again(): checked(libc.linkat(-100, f"/proc/self/fd/{file}".encode(), -100, b"again", 0x400))
                print(fails(again))
                """)
            #expect(
                shown == """
                    EEXIST
                    EPERM
                    ENOENT
                    ENOENT
                    ENAMETOOLONG
                    2 letter.txt
                    0 b'Dear'
                    ENOENT

                    """)
        }
    }

    @Test("the store's name is removed: the document moves to the other name", arguments: modes)
    func primaryUnlinked(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let identifier = try mount.status("letter.txt").identifier
            try mount.run("ln letter.txt folder/second")
            try mount.sync()
            mount.forgetCalls()
            try mount.run("rm letter.txt")
            try mount.sync()
            #expect(Self.changes(mount) == [.moveItem])
            #expect(try Self.names(mount) == ["folder", "folder/inner.txt", "folder/second"])
            #expect(try mount.status("folder/second").identifier == identifier)
            try mount.requireSameAsStore()
        }
    }

    @Test("another name is removed: the store is not told", arguments: modes)
    func secondUnlinked(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run("ln letter.txt second; mv second folder/third; rm folder/third")
            try mount.sync()
            #expect(Self.changes(mount) == [])
            #expect(try mount.run("stat -c %h letter.txt") == "1\n")
            try mount.requireSameAsStore()
        }
    }

    @Test("rename of one name over the other does nothing; rename over a linked file leaves the other name")
    func renames() async throws {
        try await withMount(seed: Self.seed) { mount in
            let shown = try mount.python(
                """
                os.link("letter.txt", "second")
                os.rename("second", "letter.txt")
                print(os.stat("second").st_nlink)
                os.rename("folder/inner.txt", "second")
                print(os.stat("letter.txt").st_nlink, read("second"))
                os.link("letter.txt", "third")
                os.rename("second", "letter.txt")
                print(os.stat("third").st_nlink, read("third"), read("letter.txt"))
                """)
            #expect(shown == "2\n1 b'inside\\n'\n1 b'Dear reader,\\n' b'inside\\n'\n")
            try mount.sync()
            #expect(try Self.names(mount) == ["folder", "letter.txt", "third"])
            try mount.requireSameAsStore()
        }
    }

    /// `rsync -b`, `perl -i.bak`, `patch`: the old version keeps a second name, the first gets a new file.
    @Test("a backup by link, then a new version over the first name", arguments: modes, [true, false])
    func backup(_ options: MountOptions, isRead: Bool) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            if isRead { try mount.run("cat letter.txt >/dev/null") }
            let identifier = try mount.status("letter.txt").identifier
            try mount.run("ln letter.txt letter.txt.bak; echo new > tmp; mv tmp letter.txt")
            #expect(
                try mount.run("cat letter.txt letter.txt.bak; stat -c %h letter.txt letter.txt.bak")
                    == "new\nDear reader,\n1\n1\n")
            try mount.sync()
            #expect(try Self.names(mount) == ["folder", "folder/inner.txt", "letter.txt", "letter.txt.bak"])
            try mount.requireSameAsStore()
            if isRead {
                // Its bytes were here, so that it was a save.
                #expect(try mount.status("letter.txt").identifier == identifier)
            }
        }
    }

    @Test("names, inode numbers and link counts stay over a remount, also after kill -9", arguments: [false, true])
    func remount(_ isKilled: Bool) async throws {
        try await withMount(seed: Self.seed) { mount in
            try mount.run("ln letter.txt folder/second; echo made > made; ln made 'also made'")
            let list = "find . -type f -printf '%P %i %n %s\\n' | sort"
            let before = try mount.run(list)
            if isKilled { try mount.kill9() } else { try mount.unmount() }
            try mount.mount()
            #expect(try mount.run(list) == before)
            #expect(before.split(separator: "\n").filter { $0.contains(" 2 ") }.count == 4)
            try mount.run("echo more >> 'also made'; rm letter.txt")
            try mount.sync()
            #expect(try Self.names(mount) == ["folder", "folder/inner.txt", "folder/second", "made"])
            #expect(try Seeding(mount.store).text("made") == "made\nmore\n")
        }
    }

    @Test("the store gets a file with the second name: it is shown, ours is renamed, nothing is lost", arguments: modes)
    func storeTakesName(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run("ln letter.txt second")
            try Seeding(mount.store).file("second", "theirs\n")
            let files = RealFileSystem(root: mount.mountPoint)
            try waitUntil(5, "the store's shows") { try files.text("second") == "theirs\n" }
            let copy = try #require(try files.names().first { $0.hasPrefix("second (conflicted copy") })
            #expect(try files.text(FSPath(copy)) == "Dear reader,\n")
            #expect(try files.stat(FSPath(copy)).inode == files.stat("letter.txt").inode)
            #expect(try files.stat("letter.txt").links == 2)
            try mount.sync()
            #expect(try Seeding(mount.store).text("letter.txt") == "Dear reader,\n")
            #expect(try Seeding(mount.store).text("second") == "theirs\n")
        }
    }

    @Test("the folder of the store's name is removed: the document moves out first", arguments: modes)
    func folderRemoved(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let identifier = try mount.status("folder/inner.txt").identifier
            try mount.run("ln folder/inner.txt outside; rm -r folder")
            try mount.sync()
            #expect(try Self.names(mount) == ["letter.txt", "outside"])
            #expect(try mount.status("outside").identifier == identifier)
            try mount.requireSameAsStore()
        }
    }

    @Test("cp -al of a tree, and a local git clone, which links its objects", arguments: modes)
    func trees(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run(
                """
                mkdir tree; for i in $(seq 20); do echo "number $i" > tree/$i; done
                cp -al tree copy; diff -r tree copy
                test "$(stat -c %h copy/* | sort -u)" = 2
                git init -q one; cd one; git config user.email a@b; git config user.name n
                echo text > text; git add .; git commit -qm first; cd ..
                git clone -q one two; git -C two fsck --strict; diff -r one/text two/text
                rm -rf tree one; cat copy/20 two/text
                """, limit: 30)
            try mount.sync()
            #expect(
                try mount.run("cd \"$STORE\"; ls copy | wc -l; cat two/text; git -C two status --porcelain")
                    == "20\ntext\n")
        }
    }

    @Test(
        "edited, renamed, replaced, deleted in the store: the other name follows or keeps its bytes", arguments: modes)
    func storeChanges(_ options: MountOptions) async throws {
        try await withMount(options) { store in
            for name in ["edited", "renamed", "replaced", "deleted"] { try Seeding(store).file(name, name) }
        } _: { mount in
            try mount.run("for name in *; do ln $name $name.link; done; cat replaced deleted >/dev/null")
            try mount.run(
                """
                cd "$STORE"; echo ' and longer' >> edited; mv renamed elsewhere; rm deleted
                echo new > tmp; mv tmp replaced
                """)
            try waitUntil(5, "it shows") {
                try mount.run("ls").split(separator: "\n") == [
                    "deleted.link", "edited", "edited.link", "elsewhere", "renamed.link", "replaced", "replaced.link",
                ] && mount.run("cat edited.link replaced") == "edited and longer\nnew\n"
            }
            #expect(try mount.run("cat deleted.link renamed.link replaced.link") == "deletedrenamedreplaced")
            #expect(try mount.run("stat -c %h *") == "1\n2\n2\n2\n2\n1\n1\n")
            try mount.sync()
            #expect(try Self.names(mount) == ["deleted.link", "edited", "elsewhere", "replaced", "replaced.link"])
        }
    }
}

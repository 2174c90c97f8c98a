import FileProviderTesting
import Foundation
import MountHarness
import Testing

/// xattr(7).
@Suite("Extended attributes at a real mount")
struct AttributeTests {
    static let modes = [MountOptions(), .cached]
    static func seed(_ store: String) throws {
        try Seeding(store).file("letter.txt", "Dear reader,\n")
        try Seeding(store).file("folder/inner.txt", "inside\n")
        try Seeding(store).link("link", to: "letter.txt")
    }

    /// The user's attributes of a file, wherever it is, as `getfattr` prints them; without the provider's own.
    private static func attributes(_ mount: MountedStore, _ path: String) throws -> [String] {
        try mount.run("getfattr -d --absolute-names \"\(path)\" 2>&1").split(separator: "\n").map(String.init)
            .filter { !$0.hasPrefix("# file") && !$0.hasPrefix("user.hydrant.") }
    }

    @Test("set, replace, list, remove and refuse attributes as ext4 does", arguments: modes)
    func calls(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let shown = try mount.python(
                """
                for path in ["letter.txt", "folder", "."]:
                    print(os.listxattr(path))
                    os.setxattr(path, "user.a", b"1"); os.setxattr(path, "user.a", b"two")
                    os.setxattr(path, "user.b", b"", os.XATTR_CREATE); os.setxattr(path, "user.b", b"3", os.XATTR_REPLACE)
                    print(os.getxattr(path, "user.a"), os.getxattr(path, "user.b"), sorted(os.listxattr(path)))
                    print(fails(os.setxattr, path, "user.a", b"3", os.XATTR_CREATE))
                    print(fails(os.setxattr, path, "user.c", b"3", os.XATTR_REPLACE))
                    print(fails(os.getxattr, path, "user.c"), fails(os.removexattr, path, "user.c"))
                    os.removexattr(path, "user.a"); print(fails(os.getxattr, path, "user.a"), os.listxattr(path))
                """)
            let each = """
                []
                b'two' b'3' ['user.a', 'user.b']
                EEXIST
                ENODATA
                ENODATA ENODATA
                ENODATA ['user.b']

                """
            #expect(shown == each + each + each)
        }
    }

    @Test("values: binary, empty, 64 KiB and no more; names: 255 bytes and no more")
    func limits() async throws {
        try await withMount(seed: Self.seed) { mount in
            let shown = try mount.python(
                """
                def round(name, value):
                    os.setxattr("letter.txt", name, value)
                    return os.getxattr("letter.txt", name) == value
                print(round("user.binary", bytes(range(256)) + b"\\0"), round("user.empty", b""))
                print(round("user.large", b"z" * 65536), fails(os.setxattr, "letter.txt", "user.large", b"z" * 65537))
                print(round("user." + "n" * 250, b"x"), fails(os.setxattr, "letter.txt", "user." + "n" * 251, b"x"))
                print(fails(os.setxattr, "letter.txt", "user.", b"x"), round("user.\\u00fc \\n", b"x"))
                few = ctypes.create_string_buffer(9)
                def small(call, *arguments):
                    if call(b"letter.txt", *arguments, few, 9) < 0: raise OSError(ctypes.get_errno(), "call")
                print(fails(small, libc.getxattr, b"user.binary"), fails(small, libc.listxattr))
                print(libc.getxattr(b"letter.txt", b"user.binary", None, 0), libc.listxattr(b"letter.txt", None, 0))
                """)
            #expect(
                shown == """
                    True True
                    True E2BIG
                    True ERANGE
                    EINVAL True
                    ERANGE ERANGE
                    257 \(12 + 11 + 11 + 256 + 10)

                    """)
            // Whatever of it the store cannot take, the document goes there.
            try mount.run("echo more >> letter.txt")
            try mount.sync()
            #expect(try Seeding(mount.store).text("letter.txt") == "Dear reader,\nmore\n")
            #expect(try Self.attributes(mount, "$STORE/letter.txt").contains("user.empty=\"\""))
        }
    }

    @Test("links and special files have no user attributes; access lists and other kinds are not supported")
    func kinds() async throws {
        try await withMount(seed: Self.seed) { mount in
            let shown = try mount.python(
                """
                os.mkfifo("pipe")
                print(fails(os.setxattr, "link", "user.x", b"1", follow_symlinks=False), fails(os.setxattr, "pipe", "user.x", b"1"))
                os.setxattr("link", "user.via", b"1"); print(os.listxattr("letter.txt"))
                os.setxattr("link", "trusted.x", b"1", follow_symlinks=False)
                print(os.getxattr("link", "trusted.x", follow_symlinks=False), os.listxattr("link"))
                print(fails(os.setxattr, "letter.txt", "nonsense.x", b"1"), fails(os.setxattr, "letter.txt", "plain", b"1"))
                acl = b"\\2\\0\\0\\0" + b"\\1\\0\\6\\0\\xff\\xff\\xff\\xff" + b"\\4\\0\\4\\0\\xff\\xff\\xff\\xff" + b"\\x20\\0\\4\\0\\xff\\xff\\xff\\xff"
                print(fails(os.setxattr, "letter.txt", "system.posix_acl_access", acl))
                print(fails(os.getxattr, "letter.txt", "system.posix_acl_access"))
                """)
            #expect(
                shown
                    == "EPERM EPERM\n['user.via']\nb'1' ['user.via']\nENOTSUP ENOTSUP\nENOTSUP\nENOTSUP\n")
        }
    }

    @Test("a missing security label is ENOTSUP, so that `ls -l` does not ask again; a set one is kept")
    func labels() async throws {
        try await withMount(seed: Self.seed) { mount in
            let shown = try mount.python(
                """
                print(fails(os.getxattr, "letter.txt", "security.selinux"), fails(os.getxattr, "letter.txt", "security.x"))
                os.setxattr("letter.txt", "security.selinux", b"a:b:c:s0")
                print(os.getxattr("letter.txt", "security.selinux"))
                """)
            // (Another machine's, as `rsync -X` brings it, is kept.)
            #expect(shown == "ENOTSUP ENODATA\nb'a:b:c:s0'\n")
        }
    }

    @Test("user attributes go to the store, others stay here; all survive a remount", arguments: modes)
    func toStore(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run(
                """
                setfattr -n user.title -v 'a letter' letter.txt; setfattr -n user.title -v 'a folder' folder
                setfattr -n user.bytes -v 0x00ff00 letter.txt
                setfattr -n trusted.t -v 1 letter.txt; setfattr -n security.s -v 2 letter.txt
                """)
            try mount.sync()
            #expect(
                try Self.attributes(mount, "$STORE/letter.txt") == ["user.bytes=0sAP8A", "user.title=\"a letter\""])
            #expect(try Self.attributes(mount, "$STORE/folder") == ["user.title=\"a folder\""])
            #expect(try mount.run("getfattr -m 'trusted|security' \"$STORE/letter.txt\"") == "")
            // Nothing was downloaded for it, and nothing sent but that.
            #expect(!mount.hookCalls().contains { [.startProvidingItem, .itemChanged].contains($0.hook) })
            let all = "getfattr -d -m - letter.txt folder"
            let before = try mount.run(all)
            try mount.remount()
            #expect(try mount.run(all) == before)
            #expect(before.contains("trusted.t=\"1\"") && before.contains("security.s=\"2\""))
            try mount.run("setfattr -x user.title letter.txt")
            try mount.sync()
            #expect(try Self.attributes(mount, "$STORE/letter.txt") == ["user.bytes=0sAP8A"])
        }
    }

    @Test("attributes of the store are shown, and their changes too, mounted or not", arguments: modes)
    func fromStore(_ options: MountOptions) async throws {
        try await withSandbox(options) { mount in
            try Self.seed(mount.store)
            try mount.run("setfattr -n user.from -v store \"$STORE/letter.txt\"")
            try mount.mount()
            #expect(try Self.attributes(mount, "letter.txt") == ["user.from=\"store\""])
            try mount.run("cd \"$STORE\"; setfattr -n user.from -v later letter.txt; setfattr -n user.new -v x folder")
            try waitUntil(5, "the change shows") {
                try Self.attributes(mount, "letter.txt") == ["user.from=\"later\""]
                    && Self.attributes(mount, "folder") == ["user.new=\"x\""]
            }
            try mount.unmount()
            try mount.run("cd \"$STORE\"; setfattr -x user.from letter.txt; setfattr -n user.other -v y letter.txt")
            try mount.mount()
            try waitUntil(5, "what changed meanwhile shows") {
                try Self.attributes(mount, "letter.txt") == ["user.other=\"y\""]
            }
        }
    }

    @Test(
        "cp and rsync keep attributes, a new file in the place has none; missing access lists do not make them fail",
        arguments: modes)
    func programs(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run(
                """
                setfattr -n user.title -v text letter.txt; chmod 640 letter.txt
                cp -a --preserve=xattr letter.txt copied; rsync -aX letter.txt synced
                cp -p letter.txt "$SCRATCH/out"; cp -p "$SCRATCH/out" back; cp -a letter.txt "$SCRATCH/all"
                sed -i s/reader/friend/ copied
                """)
            try mount.sync()
            for name in ["copied", "synced"] {
                #expect(
                    try Self.attributes(mount, "$STORE/" + name) == (name == "copied" ? [] : ["user.title=\"text\""]))
            }
            #expect(try Self.attributes(mount, "synced") == ["user.title=\"text\""])
            #expect(try Self.attributes(mount, "$SCRATCH/all") == ["user.title=\"text\""])
            #expect(try mount.run("stat -c %a back synced copied | sort -u; cat copied") == "640\nDear friend,\n")
        }
    }

    @Test("attributes stay with a document that is renamed, excluded or evicted")
    func stay() async throws {
        try await withMount(seed: Self.seed) { mount in
            try mount.run(
                """
                cat letter.txt >/dev/null; setfattr -n user.title -v text letter.txt; mv letter.txt folder/moved
                echo backup > 'doc~'; setfattr -n user.kind -v local 'doc~'
                """)
            try mount.sync()
            #expect(try Self.attributes(mount, "$STORE/folder/moved") == ["user.title=\"text\""])
            #expect(try mount.hydrant(["evict", mount.mountPoint + "/folder/moved"]).succeeded)
            try mount.remount()
            #expect(try Self.attributes(mount, "folder/moved") == ["user.title=\"text\""])
            #expect(try Self.attributes(mount, "doc~") == ["user.kind=\"local\""])
            try mount.run("mv 'doc~' doc")
            try mount.sync()
            #expect(try Self.attributes(mount, "$STORE/doc") == ["user.kind=\"local\""])
        }
    }
}

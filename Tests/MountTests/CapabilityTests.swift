import FileProvider
import FileProviderTesting
import Foundation
import MountHarness
import Testing

/// What the store does not let be done, as programs see it: root's, whom the kernel lets pass, and a user's.
@Suite("Capabilities at a real mount")
struct CapabilityTests {
    private static let prelude = #"""
        import errno, os, sys
        def fails(call, *arguments, **named):
            try: call(*arguments, **named)
            except OSError as error: return errno.errorcode[error.errno]
            return "ok"
        def shown(path): return oct(os.lstat(path).st_mode & 0o7777)
        def write(path, flags=0): os.close(os.open(path, os.O_WRONLY | flags, 0o644))

        """#

    private static func python(_ mount: ServedMount, _ program: String, asUser: Bool) throws -> String {
        chmod(mount.sandbox.path, 0o755)
        let become = asUser ? "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n" : ""
        return try mount.run("python3 - <<'END OF PROGRAM'\n" + prelude + become + program + "\nEND OF PROGRAM\n")
    }

    private static let program = """
        print(shown("doc"), shown("folder"), shown("folder/inner"), open("doc").read())
        print(fails(write, "doc"), fails(write, "doc", os.O_TRUNC), fails(os.truncate, "doc", 0))
        print(fails(os.utime, "doc", (1, 1))[:1], fails(os.chmod, "doc", 0o600)[:1])
        print(fails(os.setxattr, "doc", "user.a", b"1"))
        print(fails(os.rename, "doc", "x"), fails(os.unlink, "doc"))
        new = "folder/new"
        print(fails(write, new, os.O_CREAT), fails(os.mkdir, new), fails(os.symlink, "x", new))
        print(fails(os.rename, "other", "folder/new"), fails(os.rename, "other", "doc"))
        """

    private static func provider() throws -> ScriptedProvider {
        let provider = ScriptedProvider()
        try provider.base.put("doc", "text")
        try provider.base.put("other", "other")
        try provider.base.put("folder/inner", "inner")
        provider.edit { $0.capabilities = ["doc": .readOnly, "folder": .readOnly] }
        return provider
    }

    @Test("mode bits, and EACCES for root and for a user", arguments: [false, true])
    func refused(asUser: Bool) async throws {
        try await withServedMount(try Self.provider(), options: ["allow_other"]) { mount throws in
            #expect(
                try Self.python(mount, Self.program, asUser: asUser) == """
                    0o444 0o555 0o644 text
                    EACCES EACCES EACCES
                    E E
                    EACCES
                    EACCES EACCES
                    EACCES EACCES EACCES
                    EACCES EACCES

                    """)
            #expect(try mount.sync().isEmpty)
        }
    }

    @Test("a change of capabilities in the store reaches the kernel's attributes, and does not confuse cp -p and git")
    func changes() async throws {
        let provider = try Self.provider()
        try await withServedMount(provider, options: ["allow_other"]) { mount throws in
            #expect(try mount.run("stat -c %a doc folder") == "444\n555\n")
            try mount.run(
                "git init -q repo; cp doc repo/file; cd repo; git add .; git -c user.name=a -c user.email=a commit -qm 1"
            )
            try provider.allow(.all, at: "doc")
            try provider.allow(.all, at: "folder")
            try waitUntil(10, "the modes") { try mount.run("stat -c %a doc folder") == "644\n755\n" }
            try mount.run("echo more >>doc; touch folder/new; mv doc folder/doc2")
            #expect(try mount.sync().isEmpty)
            try provider.allow(.readOnly, at: "folder")
            try waitUntil(10, "the mode") { try mount.run("stat -c %a folder") == "555\n" }
            // As from any read-only folder: the copy is one's own.
            #expect(try mount.run("cp -p folder/doc2 copy; cp -rp folder folder2; cat copy") == "textmore\n")
            #expect(try mount.run("cd repo; git status --porcelain; chmod 644 file; git status --porcelain") == "")
            #expect(try mount.sync().isEmpty)
        }
    }

    @Test("files of vim and LibreOffice beside a read-only document stay here")
    func locks() async throws {
        let provider = try Self.provider()
        try await withServedMount(provider) { mount throws in
            try mount.run(
                "cd folder; echo x >.inner.swp; echo y >.~lock.inner#; cat inner; rm .inner.swp .~lock.inner#")
            #expect(try mount.sync().isEmpty)
            #expect(provider.base.calls(of: .createItem).isEmpty)
        }
    }
}

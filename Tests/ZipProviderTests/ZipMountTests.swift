import Foundation
import MountHarness
import Testing

/// Through the real command, which finds the program in `PATH`.
@Suite("hydrant mount zip:")
struct ZipMountTests {
    private static let program = "hydrant-provider-zip"

    /// The program lies in a folder of its own, as an installed one does.
    private static func mount(_ archives: ArchiveFixtures, _ location: String) throws -> ChildResult {
        let sandbox = archives.sandbox
        let folder = "\(sandbox.scratch)/bin"
        if access("\(folder)/\(program)", X_OK) != 0 {
            try Seeding(sandbox.scratch).folder("bin")
            let built = Sandbox.executable.dropLast("/hydrant".count)
            try Seeding(sandbox.scratch).link("bin/\(program)", to: "\(built)/\(program)")
        }
        return try sandbox.sandbox.run(
            [Sandbox.executable, "mount", location, sandbox.mountPoint, "--state-dir", sandbox.sandbox.state],
            environment: sandbox.environment.merging(["PATH": "\(folder):/usr/bin:/bin"]) { $1 }, limit: 20)
    }

    @Test("an archive is a folder: listed, read, copied, never changed")
    func mounted() async throws {
        try await withArchives { archives in
            try archives.python(
                """
                make("a.zip", (info("docs/", 0o040755), b""), (info("docs/run.sh", 0o100755), b"#!/bin/sh\\necho ran\\n"),
                    ("by/prefix", b"p" * 70000), (info("link", 0o120777), b"docs/run.sh"), ("../escape", b"x"),
                    (info("big", packed=False), noise(3000000)))
                """)
            let result = try Self.mount(archives, "zip:\(archives.path("a.zip"))")
            #expect(result.succeeded, "\(result)")
            let mount = archives.sandbox
            #expect(
                try mount.run("find . -mindepth 1 | sort")
                    == "./big\n./by\n./by/prefix\n./docs\n./docs/run.sh\n./link\n")
            #expect(
                try mount.run("stat -c '%s %a' docs/run.sh; readlink link; ./docs/run.sh")
                    == "19 755\ndocs/run.sh\nran\n")
            try mount.run(
                """
                mkdir "$SCRATCH/out"; python3 -m zipfile -e "$SCRATCH/a.zip" "$SCRATCH/out" 
                tail -c 5 big | cmp - <(tail -c 5 "$SCRATCH/out/big"); cmp big "$SCRATCH/out/big"
                cmp by/prefix "$SCRATCH/out/by/prefix"
                """)
            let refused = try mount.shell("echo x > new")
            #expect(!refused.succeeded && refused.stderr.contains("Read-only"), "\(refused)")
            try mount.unmount()
        }
    }

    @Test("a replaced archive shows within seconds, in listings and reads")
    func replaced() async throws {
        try await withArchives { archives in
            try archives.python(
                #"make("a.zip", ("x", b"one\n"), ("d/gone", b"g")); make("b.zip", ("x", b"two\n"), ("d/new", b"n"))"#)
            #expect(try Self.mount(archives, "zip:\(archives.path("a.zip"))").succeeded)
            let mount = archives.sandbox
            #expect(try mount.run("cat x; ls d") == "one\ngone\n")
            try archives.python(#"os.replace("b.zip", "a.zip")"#)
            try waitUntil(10, "the new archive is shown") { try mount.run("cat x; ls d") == "two\nnew\n" }
            try mount.unmount()
        }
    }

    @Test("damaged and encrypted documents fail for the program that reads them; the log says why")
    func failures() async throws {
        try await withArchives { archives in
            try archives.python(
                """
                make("a.zip", (info("bad", packed=False), b"these bytes"), ("secret", b"x" * 99), ("good", b"fine"))
                patch("a.zip", b"these bytes", b"those bytes")
                central("a.zip", b"secret", 8, b"\\1\\0")
                """)
            #expect(try Self.mount(archives, "zip:\(archives.path("a.zip"))").succeeded)
            let mount = archives.sandbox
            let bad = try mount.shell("cat bad")
            #expect(!bad.succeeded && bad.stderr.contains("Input/output error"), "\(bad)")
            let secret = try mount.shell("cat secret")
            #expect(!secret.succeeded && secret.stderr.contains("not supported"), "\(secret)")
            #expect(try mount.run("cat good") == "fine")
            #expect(mount.logTail.contains("secret: is encrypted"), "\(mount.logTail)")
            try mount.unmount()
        }
    }

    @Test("an archive that cannot be mounted is reported in one line")
    func refused() async throws {
        try await withArchives { archives in
            try archives.python(
                """
                make("cut.zip", ("a", noise(9000))); write("cut.zip", read("cut.zip")[:5000])
                write("text.zip", b"a text\\n" * 9)
                """)
            for (name, says) in [
                ("none.zip", "no such archive"), ("cut.zip", "cut off"), ("text.zip", "not a ZIP archive"),
            ] {
                let result = try Self.mount(archives, "zip:\(archives.path(name))")
                #expect(result.status == 1 && result.stdout.isEmpty, "\(result)")
                #expect(result.stderr.hasPrefix("hydrant: ") && result.stderr.split(separator: "\n").count == 1)
                #expect(result.stderr.contains(archives.path(name)) && result.stderr.contains(says), "\(result)")
                #expect(!archives.sandbox.isMounted)
            }
        }
    }
}

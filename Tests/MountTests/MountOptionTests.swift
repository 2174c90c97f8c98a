import Foundation
import Glibc
import MountHarness
import Testing

@Suite("hydrant mount: --read-only, --domain, --uid, --gid, --umask, --log-level")
struct MountOptionTests {
    // MARK: Read-only

    @Test(
        "pending changes stay pending while it is mounted read-only, and are sent afterwards",
        arguments: ["--read-only", "-oro"])
    func readOnly(option: String) async throws {
        try await withSandbox(.lateUploads) { mount in
            try Seeding(mount.store).file("doc.txt", "old\n")
            try mount.mount()
            try mount.run("echo changed > doc.txt; echo new > new.txt")
            try mount.unmount()

            let read = try mount.hydrant(mount.mountCommand([option]))
            #expect(read.succeeded, "\(read)")
            #expect(try mount.run("cat doc.txt new.txt") == "changed\nnew\n")
            for change in ["echo x > doc.txt", "echo x > y", "rm new.txt", "mv doc.txt z", "chmod 600 doc.txt"] {
                let result = try mount.shell(change)
                #expect(!result.succeeded && result.stderr.contains("Read-only"), "\(change): \(result)")
            }
            // There is nothing to wait for.
            let sync = try mount.hydrant(["sync", mount.mountPoint])
            #expect(sync.status == 75 && sync.stdout.contains("doc.txt") && sync.stdout.contains("new.txt"), "\(sync)")
            #expect(sync.stderr.contains("2 changes are still pending") && sync.stderr.contains("read-only"), "\(sync)")
            #expect(try Seeding(mount.store).text("doc.txt") == "old\n")
            #expect(try Seeding(mount.store).names() == ["doc.txt"])
            try mount.unmount()

            try mount.mount()
            try mount.sync()
            #expect(try Seeding(mount.store).text("doc.txt") == "changed\n")
            #expect(try Seeding(mount.store).text("new.txt") == "new\n")
        }
    }

    // MARK: The name of a domain

    @Test("--domain names the state directory; another store's name is refused, and stays unchanged")
    func domain() async throws {
        try await withSandbox { mount in
            try Seeding(mount.store).file("doc.txt", "x\n")
            try Seeding(mount.scratch).folder("other")
            func command(_ store: String, _ name: String) -> [String] {
                ["mount", "dir:\(store)", mount.mountPoint, "--domain", name]
            }
            #expect(try mount.hydrant(command(mount.store, "work")).succeeded)
            let domains = Seeding(mount.sandbox.path + "/data/hydrant/domains")
            #expect(try domains.names() == ["work"])
            #expect(try mount.run("cat doc.txt; echo y > new") == "x\n")
            try mount.sync()
            try mount.unmount()

            let refused = try mount.hydrant(command(mount.scratch + "/other", "work"))
            #expect(refused.status == 1 && refused.stderr.split(separator: "\n").count == 1, "\(refused)")
            #expect(refused.stderr.contains("dir:\(mount.store)") && refused.stderr.contains("another --domain"))
            for name in ["a/b", "..", ""] {
                let bad = try mount.hydrant(command(mount.store, name))
                #expect(bad.status == 64 && bad.stderr.contains("--domain"), "\(bad)")
            }
            let both = try mount.hydrant(command(mount.store, "work") + ["--state-dir", mount.sandbox.state])
            #expect(both.status == 64 && both.stderr.contains("--state-dir"), "\(both)")
            #expect(try domains.names() == ["work"] && !mount.isMounted)
            #expect(try mount.hydrant(command(mount.store, "work")).succeeded)
            #expect(try mount.run("cat new") == "y\n")
        }
    }

    // MARK: Who owns it

    /// The chapters have no owner and no mode of their store's.
    @Test(
        "--uid, --gid and --umask give owner and mode to the store's items, anew at each mount",
        .enabled(if: geteuid() == 0))
    func dress() async throws {
        try await withSandbox { mount in
            try Seeding(mount.scratch).file("book.md", "# One\nfirst\n# Two\nsecond\n")
            func check(_ arguments: [String], _ shown: String) throws {
                let built = ExternalProviderTests.built
                let result = try mount.sandbox.run(
                    [Sandbox.executable, "mount", "chapters:\(mount.scratch)/book.md", mount.mountPoint] + arguments,
                    environment: ["PATH": "\(built):/usr/bin:/bin"], limit: 20)
                #expect(result.succeeded, "\(result)")
                #expect(try mount.run("stat -c '%u:%g %a' . '1 One.md' '2 Two.md'") == shown)
                try mount.unmount()
            }
            let own = "\(getuid()):\(getgid())"
            try check([], "\(own) 755\n\(own) 644\n\(own) 644\n")
            try check(
                ["--uid", "1234", "--gid", "nogroup", "--umask", "027"],
                "1234:65534 750\n1234:65534 640\n1234:65534 640\n")
            try check(
                ["-o", "uid=1234,umask=077"], "1234:\(getgid()) 700\n1234:\(getgid()) 600\n1234:\(getgid()) 600\n")
            try check([], "\(own) 755\n\(own) 644\n\(own) 644\n")
        }
    }

    @Test(
        "an owner or mode that a program set stays; so does a mode of the store", .enabled(if: geteuid() == 0))
    func dressed() async throws {
        try await withSandbox { mount in
            try Seeding(mount.store).file("doc.txt", "x\n")
            try Seeding(mount.store).file("theirs.txt", "x\n")
            chmod(mount.store + "/doc.txt", 0o604)
            chmod(mount.store + "/theirs.txt", 0o644)
            try mount.mount()
            try mount.run("chown 77:78 theirs.txt")
            try mount.unmount()
            let result = try mount.hydrant(mount.mountCommand(["--uid", "1234", "--umask", "077"]))
            #expect(result.succeeded, "\(result)")
            #expect(
                try mount.run("stat -c '%u:%g %a' doc.txt theirs.txt")
                    == "1234:\(getgid()) 604\n77:78 644\n")
        }
    }

    // MARK: Refused at once

    @Test(
        "meaningless options are refused at once, in one line, with status 64",
        arguments: [
            ["--log-level", "loud"], ["--uid", "no such user"], ["--gid", "no such group"], ["--umask", "999"],
            ["--read-only", "-o", "rw"], ["--uid", "1", "-o", "uid=2"], ["--exclude", "a/b"], ["--cache-limit", "10X"],
        ])
    func refused(arguments: [String]) async throws {
        try await withSandbox { mount in
            let result = try mount.hydrant(
                ["mount", "dir:\(mount.store)", mount.mountPoint, "--state-dir", mount.sandbox.state] + arguments)
            #expect(result.status == 64 && result.stdout.isEmpty, "\(result)")
            #expect(
                result.stderr.hasPrefix("hydrant: ") && result.stderr.split(separator: "\n").count == 1, "\(result)")
            #expect(result.stderr.contains(arguments[0]) || result.stderr.contains("-o"))
            #expect(!mount.isMounted && access(mount.sandbox.state, F_OK) != 0)
        }
    }

    @Test("help names the log levels, and --log-level selects the messages")
    func logLevel() async throws {
        try await withSandbox { mount in
            let help = try mount.hydrant(["help", "mount"]).stdout.split(whereSeparator: \.isWhitespace)
                .joined(separator: " ")
            #expect(help.contains("--log-level") && help.contains("trace, debug, info, notice, warning"))
            let command = ["mount", "dir:\(mount.store)", mount.mountPoint, "--state-dir", mount.sandbox.state]
            #expect(try mount.hydrant(command + ["--log-level", "error"]).succeeded)
            try mount.run("ls")
            try mount.unmount()
            #expect(try Seeding(mount.sandbox.path).text("log/hydrant/hydrant.log") == "")
            #expect(try mount.hydrant(command).succeeded)
            try mount.unmount()
            let log = try Seeding(mount.sandbox.path).text("log/hydrant/hydrant.log")
            #expect(log.contains(" info hydrant: ") && log.contains("mounted") && !log.contains(" debug "))
        }
    }

    /// As a unit of systemd starts it. With a journal on this machine, the messages would go there.
    @Test(
        "in the foreground, with standard error in the journal, each line has its priority",
        .enabled(if: access("/run/systemd/journal/socket", F_OK) != 0))
    func journal() async throws {
        try await withSandbox { mount in
            try Seeding(mount.store).file("doc.txt", "x\n")
            let script = """
                exec 2>"$SCRATCH/journal"
                export JOURNAL_STREAM=$(stat -c %d:%i "$SCRATCH/journal")
                exec "$HYDRANT" mount --foreground --log-level debug --state-dir "$SCRATCH/state" dir:"$STORE" "$MOUNT"
                """
            let daemon = try mount.sandbox.spawn(["bash", "-c", script], environment: mount.environment)
            try waitUntil(10, "it is mounted") {
                try mount.isMounted && mount.hydrant(["status", mount.mountPoint]).succeeded
            }
            try mount.run("cat doc.txt")
            daemon.signal(SIGTERM)
            #expect(daemon.wait(limit: 10).status == 0)
            let lines = try Seeding(mount.scratch).text("journal").split(separator: "\n")
            #expect(lines.contains { $0.hasPrefix("<6>mounted ") && $0.contains("store=dir:\(mount.store)") })
            #expect(lines.contains { $0.hasPrefix("<7>startProvidingItem ") && $0.contains("item=doc.txt") })
            #expect(lines.allSatisfy { $0.hasPrefix("<") }, "\(lines)")
        }
    }
}

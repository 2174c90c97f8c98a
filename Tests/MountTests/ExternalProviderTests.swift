import ControlAPI
import Foundation
import Glibc
import MountHarness
import Testing

/// Stores that are served by a program of somebody else's: `hydrant-provider-SCHEME` in `PATH`.
@Suite("hydrant mount of a scheme that is not built in")
struct ExternalProviderTests {
    /// Where this package's own `hydrant-provider-…` are built to.
    static let built = String(Sandbox.executable.dropLast("/hydrant".count))

    /// They are found in `PATH`, behind what the test puts into a folder of its own.
    private static func path(_ mount: MountedStore) -> [String: String] {
        ["PATH": "\(mount.scratch):\(built):/usr/bin:/bin", "HYDRANT_POLL": "0.2"]
    }

    private static func run(_ mount: MountedStore, _ arguments: [String], environment: [String: String] = [:]) throws
        -> ChildResult
    {
        let all = mount.environment.merging(path(mount)) { $1 }.merging(environment) { $1 }
        return try mount.sandbox.run([Sandbox.executable] + arguments, environment: all, limit: 20)
    }

    private static func command(_ mount: MountedStore, _ store: String) -> [String] {
        ["mount", store, mount.mountPoint, "--state-dir", mount.sandbox.state, "--log-level", "trace"]
    }

    private static func mount(_ mount: MountedStore, _ store: String, _ arguments: [String] = []) throws {
        let result = try run(mount, command(mount, store) + arguments)
        guard result.succeeded else { throw HarnessError("cannot mount: \(result)") }
    }

    /// One line that names something, status 1, nothing mounted, and nobody left who serves.
    private static func checkRefused(
        _ mount: MountedStore, _ store: String, says: [String], environment: [String: String] = [:]
    ) throws {
        let result = try run(mount, command(mount, store), environment: environment)
        #expect(result.status == 1 && !result.timedOut && result.stdout.isEmpty, "\(result)")
        #expect(result.stderr.hasPrefix("hydrant: ") && result.stderr.split(separator: "\n").count == 1, "\(result)")
        for text in says { #expect(result.stderr.contains(text), "\(result)") }
        #expect(!mount.isMounted)
    }

    private static func program(_ mount: MountedStore, _ name: String, _ text: String, mode: mode_t = 0o755) throws {
        try Seeding(mount.scratch).file(name, text)
        guard chmod(mount.scratch + "/" + name, mode) == 0 else { throw HarnessError("chmod") }
    }

    // MARK: Serving

    @Test("logout of an external provider with an account, given its mount point; a provider without one is refused")
    func logout() async throws {
        try await withSandbox { mount in
            try Self.mount(mount, "memory://host/account")
            #expect(try mount.run("cat hello.txt") == "hello\n")
            let token = mount.sandbox.path + "/data/memory-token"
            #expect(FileManager.default.fileExists(atPath: token))
            let out = try mount.hydrant(["logout", mount.mountPoint])
            #expect(out.succeeded && out.stdout.contains("signed out"), "\(out)")
            #expect(try mount.run("ls -A") == "" && !FileManager.default.fileExists(atPath: token))
            #expect(!FileManager.default.fileExists(atPath: mount.sandbox.state + "/catalog.sqlite"))
            try Self.mount(mount, "memory://host/plain")
            let refused = try mount.hydrant(["logout", mount.mountPoint])
            #expect(refused.status == 1 && refused.stderr.contains("has no account"), "\(refused)")
            #expect(try mount.run("cat hello.txt") == "hello\n")
            try mount.unmount()
        }
    }

    @Test("the provider of the guide: mounted, read, read-only, and its file is followed")
    func guide() async throws {
        try await withSandbox { mount in
            try Seeding(mount.scratch).file("book.md", "# One\nfirst\n# Two\nsecond\n")
            try Self.mount(mount, "chapters:\(mount.scratch)/book.md")
            #expect(try mount.run("ls; cat '2 Two.md'") == "1 One.md\n2 Two.md\nTwo\nsecond\n")
            let status = try mount.hydrant(["status"])
            #expect(status.stdout.contains("chapters:\(mount.scratch)/book.md"), "\(status)")
            for change in ["echo x > new", "echo x >> '1 One.md'", "rm '1 One.md'", "mkdir d", "touch '2 Two.md'"] {
                let result = try mount.shell(change)
                #expect(!result.succeeded && result.stderr.contains("Read-only"), "\(change): \(result)")
            }
            try Seeding(mount.scratch).file("book.md", "# One\nfirst, again\n# Two\nsecond\n# Three\nthird\n")
            try waitUntil(10, "the new chapter is there") {
                try mount.run("cat *.md") == "One\nfirst, again\nTwo\nsecond\nThree\nthird\n"
            }
            let pid = try mount.daemonPID()
            try mount.unmount()
            #expect(!MountedStore.isAlive(pid))
        }
    }

    @Test("a relative path starts at the working directory, and the same file is recognised from elsewhere")
    func relative() async throws {
        try await withSandbox { mount in
            try Seeding(mount.scratch).file("folder/book.md", "# One\nfirst\n")
            try Seeding(mount.scratch).link("book.md", to: "folder/book.md")
            let environment = mount.environment.merging(Self.path(mount)) { $1 }
            for (folder, store) in [("folder", "chapters:book.md"), (".", "chapters:./folder/../book.md")] {
                let script = "cd \"$SCRATCH/\(folder)\"; exec \"$HYDRANT\" mount \(store) \"$MOUNT\""
                let result = try mount.sandbox.run(["bash", "-c", script], environment: environment, limit: 20)
                #expect(result.succeeded, "\(result)")
                #expect(try mount.run("cat *") == "One\nfirst\n")
                let pids = try mount.hydrant(["status"])
                #expect(pids.stdout.contains("chapters:\(mount.scratch)/folder/book.md"), "\(pids)")
                try mount.unmount()
            }
            #expect(try Seeding(mount.sandbox.path + "/data/hydrant/domains").names().count == 1)
        }
    }

    @Test("--foreground becomes the provider: one process, which ends cleanly on SIGTERM")
    func foreground() async throws {
        try await withSandbox { mount in
            try Seeding(mount.scratch).file("book.md", "# One\nfirst\n")
            let daemon = try mount.sandbox.spawn(
                [Sandbox.executable] + Self.command(mount, "chapters:\(mount.scratch)/book.md") + ["--foreground"],
                environment: mount.environment.merging(Self.path(mount)) { $1 })
            let files = RealFileSystem(root: mount.mountPoint)
            try waitUntil(10, "it is mounted") { try mount.isMounted && files.exists("1 One.md") }
            #expect(try mount.daemonPID() == daemon.pid)
            let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(daemon.pid)/exe")
            #expect(executable.hasSuffix("/hydrant-provider-chapters"))
            daemon.signal(SIGTERM)
            #expect(daemon.wait(limit: 10).status == 0)
            #expect(!mount.isMounted)
        }
    }

    @Test("files written to an external store arrive there, and can be read back")
    func writing() async throws {
        try await withSandbox { mount in
            try Self.mount(mount, "memory://host/store")
            try mount.run("echo more >> hello.txt; mkdir d; echo new > d/new.txt")
            try mount.sync()
            #expect(try mount.hydrant(["evict", mount.mountPoint]).succeeded)
            #expect(try mount.status("hello.txt").bytesDownloaded == 0)
            #expect(try mount.run("cat hello.txt d/new.txt") == "hello\nmore\nnew\n")
        }
    }

    // MARK: What goes wrong

    @Test("no such program: the error names the program and the searched folders")
    func missing() async throws {
        try await withSandbox { mount in
            try Self.checkRefused(
                mount, "gopher://ada:s3cret@host/x", says: ["hydrant-provider-gopher", "\(mount.scratch):", "dir:"])
            try Self.program(mount, "hydrant-provider-gopher", "#!/bin/sh\n", mode: 0o644)
            try Self.checkRefused(mount, "gopher:x", says: ["\(mount.scratch)/hydrant-provider-gopher", "chmod +x"])
        }
    }

    @Test("a program that is not a provider, of any kind: the error names it, and its behaviour")
    func noProvider() async throws {
        try await withSandbox { mount in
            let path = "\(mount.scratch)/hydrant-provider-x"
            for (script, says) in [
                ("#!/bin/sh\nexit 0\n", "ended with status 0 without a word"),
                ("#!/bin/sh\necho hello; echo ready; exit 3\n", "ended with status 3 without a word"),
                ("#!/bin/sh\nkill -SEGV $$\n", "signal 11 (Segmentation fault)"),
                ("\u{7f}ELF nonsense", "cannot be started"),
                ("#!/no/such/interpreter\n", "cannot be started"),
            ] {
                try Self.program(mount, "hydrant-provider-x", script)
                try Self.checkRefused(mount, "x:y", says: [path, says])
            }
            try Self.program(mount, "hydrant-provider-x", "#!/bin/sh\necho $$ > \"$SCRATCH/pid\"; exec sleep 600\n")
            try Self.checkRefused(
                mount, "x:y", says: [path, "said nothing"], environment: ["HYDRANT_START_TIMEOUT": "3"])
            let pid = try Int32(Seeding(mount.scratch).text("pid").trimmingCharacters(in: .whitespacesAndNewlines))
            try waitUntil(5, "it was ended") { try !MountedStore.isAlive(#require(pid)) }
        }
    }

    @Test("a provider that crashes, hangs or refuses before the mount is up")
    func refusing() async throws {
        try await withSandbox { mount in
            try Self.checkRefused(
                mount, "memory://host/crash", says: ["hydrant-provider-memory", "signal 6 (Aborted)", "log"])
            try Self.checkRefused(
                mount, "memory://host/hang", says: ["hydrant-provider-memory", "takes too long"],
                environment: ["HYDRANT_START_TIMEOUT": "8"])
            try Self.checkRefused(mount, "memory://ada:s3cret-pw@host/refuse", says: ["//ada:…@host", "sign in first"])
            try Self.checkRefused(mount, "memory://host/foreign", says: ["hydrant: no such album"])
            try Self.checkRefused(
                mount, "memory://ada:s3cret-pw@host/unwilling",
                says: ["hydrant: //ada:…@host/unwilling at \(mount.mountPoint): not today"])
            try Self.checkRefused(mount, "memory:host", says: ["memory://HOST/PATH"])
            try Self.checkRefused(mount, "chapters:\(mount.scratch)/none.md", says: ["\(mount.scratch)/none.md"])
            #expect(try Seeding(mount.mountPoint).names() == [])
        }
    }

    @Test("a provider whose starter is killed before the mount is up ends too")
    func abandoned() async throws {
        try await withSandbox { mount in
            let command = try mount.sandbox.spawn(
                [Sandbox.executable] + Self.command(mount, "memory://host/hang"),
                environment: mount.environment.merging(Self.path(mount)) { $1 })
            var provider: Int32?
            defer { if let provider, MountedStore.isAlive(provider) { kill(provider, SIGKILL) } }
            try waitUntil(20, "its provider is being made") {
                // (Not the one that is only asked which kind of program it is.)
                let children = try mount.sandbox.run(
                    ["pgrep", "-P", "\(command.pid)", "-f", "hydrant-provider-memory memory://"], limit: 10)
                provider = Int32(children.stdout.trimmingCharacters(in: .whitespacesAndNewlines))
                return provider != nil
            }
            let pid = try #require(provider)
            command.signal(SIGKILL)
            _ = command.wait(limit: 10)
            try waitUntil(20, "it has ended") { !MountedStore.isAlive(pid) }
            #expect(!mount.isMounted)
            // The next one is served.
            try Self.mount(mount, "memory://host/store")
            #expect(try mount.run("cat hello.txt") == "hello\n")
        }
    }

    @Test("a provider under another scheme's name, and one of another release, are reported")
    func otherProvider() async throws {
        try await withSandbox { mount in
            try Seeding(mount.scratch).link("hydrant-provider-zip", to: Self.built + "/hydrant-provider-chapters")
            try Self.checkRefused(mount, "zip:a.zip", says: ["hydrant-provider-chapters", "chapters:", "not zip:"])
            // As a command of a later release would start it.
            let script = "HYDRANT_CONFIGURATION_FD=3 hydrant-provider-chapters 3< <(echo '{\"version\": 99}')"
            let result = try mount.sandbox.run(["bash", "-c", script], environment: Self.path(mount), limit: 10)
            #expect(result.status == 1 && result.stderr.split(separator: "\n").count == 1)
            #expect(result.stderr.contains("another release") && result.stderr.contains("99"), "\(result)")
        }
    }

    @Test("run by hand, a provider prints its purpose, its usage and its version")
    func byHand() async throws {
        try await withSandbox { mount in
            func run(_ arguments: String...) throws -> ChildResult {
                try mount.sandbox.run(
                    [Self.built + "/hydrant-provider-memory"] + arguments, environment: Self.path(mount), limit: 10)
            }
            for result in [try run(), try run("--help")] {
                #expect(result.succeeded && result.stdout.contains("hydrant mount memory://HOST/PATH MOUNTPOINT"))
            }
            #expect(try run("--version").stdout.hasPrefix("hydrant-provider-memory 1.5 "))
            let wrong = try run("memory://host", mount.mountPoint)
            #expect(wrong.status == 64 && wrong.stderr.split(separator: "\n").count == 1, "\(wrong)")
            let served = try mount.hydrant(["serve"])
            #expect(served.status == 64 && served.stderr.contains("hydrant mount"))
        }
    }

    @Test("doctor --store says that it cannot ask an external store; without --store it checks the rest")
    func doctor() async throws {
        try await withSandbox { mount in
            try Self.mount(mount, "memory://ada:s3cret-pw@host/store")
            try mount.run("cat hello.txt")
            try mount.unmount()
            #expect(try mount.hydrant(["doctor", mount.sandbox.state]).succeeded)
            let result = try mount.hydrant(["doctor", "--store", mount.sandbox.state])
            #expect(result.status == 1 && result.stderr.split(separator: "\n").count == 1)
            #expect(result.stderr.contains("memory://ada@host/store") && result.stderr.contains("without --store"))
        }
    }

    // MARK: Secrets

    @Test("a password in the store's address is in no log, process list, mount table or status")
    func secrets() async throws {
        try await withSandbox { mount in
            let store = "memory://ada:s3cret-pw@host/store?lang=en&api_token=tok3n-value"
            try Self.mount(mount, store)
            let pid = try mount.daemonPID()
            try mount.run("cat hello.txt; echo x > new")
            try mount.sync()
            var seen = [
                "log": try Seeding(mount.sandbox.path).text("log/hydrant/hydrant.log"),
                "mounts": try String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8),
                "status": try mount.hydrant(["status"]).stdout + mount.hydrant(["status", "--json"]).stdout,
            ]
            for name in ["cmdline", "environ"] {
                let data = try #require(FileManager.default.contents(atPath: "/proc/\(pid)/\(name)"))
                seen[name] = String(decoding: data, as: UTF8.self)
            }
            for (place, text) in seen {
                #expect(!text.contains("s3cret-pw") && !text.contains("tok3n"), "\(place): \(text)")
            }
            // They did look at the right thing.
            #expect(seen["log"]?.contains("opened //ada:…@host/store?lang=en&api_token=…") == true)
            #expect(seen["mounts"]?.contains("memory://ada@host/store?lang=en") == true)
            #expect(seen["status"]?.contains("memory://ada@host/store?lang=en") == true)
            #expect(seen["cmdline"]?.contains("memory://ada@host/store?lang=en") == true)
            // Nor is it kept; so that another password is the same store.
            let kept = try mount.sandbox.run(["grep", "-rl", "s3cret-pw", mount.sandbox.state], limit: 10)
            #expect(kept.status == 1 && kept.stdout.isEmpty)
            try mount.unmount()
            try Self.mount(mount, store.replacing("s3cret-pw", with: "another"))
            #expect(try mount.run("cat hello.txt") == "hello\n")
        }
    }

    @Test("during the mount, the command's own arguments do not show the password either")
    func secretsOfTheCommand() async throws {
        try await withSandbox { mount in
            let command = try mount.sandbox.spawn(
                [Sandbox.executable] + Self.command(mount, "memory://ada:s3cret-pw@host/hang"),
                environment: mount.environment.merging(Self.path(mount)) { $1 }.merging([
                    "HYDRANT_START_TIMEOUT": "10"
                ]) { $1 })
            try waitUntil(10, "its arguments are rewritten") {
                let data = FileManager.default.contents(atPath: "/proc/\(command.pid)/cmdline") ?? Data()
                let words = String(decoding: data, as: UTF8.self)
                return words.contains("memory://ada@host/hang") && !words.contains("s3cret")
            }
            let result = command.wait(limit: 20)
            #expect(result.status == 1 && !result.stderr.contains("s3cret"), "\(result)")
        }
    }
}

import ControlAPI
import Foundation
import Glibc
import MountHarness
import Testing
import WebDAVHarness

/// Domains by name, with a password, on a real server: Apache over HTTPS with Basic.
@Suite("hydrant domain, login, logout")
struct AccountTests {
    private static let options = MountOptions.with { $0.limit = 90 }

    private struct Account {
        let mount: MountedStore
        let server: TestServer

        func hydrant(_ arguments: String..., input: String? = nil) throws -> ChildResult {
            guard let input else { return try mount.hydrant(arguments) }
            let words = arguments.map { "'\($0)'" }.joined(separator: " ")
            return try mount.sandbox.run(
                ["sh", "-c", "printf '%s\\n' '\(input)' | \"$HYDRANT\" \(words)"], environment: mount.environment,
                limit: 20)
        }

        func add() throws {
            let added = try hydrant(
                "domain", "add", "work", server.url, "--user", TestServer.user, "--certificate-authority",
                server.authority)
            guard added.succeeded else { throw HarnessError("domain add: \(added)") }
        }

        func login(_ password: String = TestServer.password) throws -> ChildResult {
            try hydrant("login", "work", "--password-stdin", input: password)
        }

        func mountIt() throws {
            let result = try hydrant(
                "mount", "work", mount.mountPoint, "--log-level", "debug")
            guard result.succeeded else { throw HarnessError("mount: \(result)") }
        }

        func status() throws -> String { try hydrant("status").stdout }
    }

    private static func withAccount(_ body: @escaping @Sendable (Account) throws -> Void) async throws {
        try await withServer(.apache, .usual) { server in
            try await withSandbox(options) { mount in try body(Account(mount: mount, server: server)) }
        }
    }

    @Test("add a domain, sign in, mount; then unmount, sign out, remove it")
    func everything() async throws {
        try await Self.withAccount { account in
            let (mount, server) = (account.mount, account.server)
            try Seeding(server.root).file("there.txt", "there\n")
            try account.add()
            #expect(try account.hydrant("domain", "list").stdout.contains("none; hydrant login work"))
            let login = try account.login()
            #expect(login.succeeded && login.stdout.contains("file "), "\(login)")
            let list = try account.hydrant("domain", "list")
            #expect(list.stdout.contains(server.url) && list.stdout.contains("/credentials/work"), "\(list)")
            try account.mountIt()
            #expect(try mount.run("cat there.txt; echo new > new.txt; mkdir d; mv new.txt d/moved") == "there\n")
            try mount.sync()
            #expect(try Seeding(server.root).text("d/moved") == "new\n")
            #expect(try account.status().contains("online since"))
            #expect(try account.hydrant("domain", "list").stdout.contains("mounted at \(mount.mountPoint)"))
            // Of a mount point its state in words; with --json as of any folder.
            let state = try account.hydrant("status", mount.mountPoint)
            #expect(
                state.stdout.contains("\(mount.mountPoint)  webdavs:")
                    && state.stdout.contains("everything is in the store"))
            #expect(try account.hydrant("status", "--json", mount.mountPoint).stdout.contains("\"kind\" : \"folder\""))
            let removed = try account.hydrant("domain", "remove", "work")
            #expect(removed.succeeded && removed.stdout.contains("signed out"), "\(removed)")
            #expect(try mount.run("ls -A") == "" && !account.status().contains(mount.mountPoint))
            #expect(!FileManager.default.fileExists(atPath: mount.sandbox.path + "/data/hydrant/domains/work"))
            #expect(try account.hydrant("domain", "list").stdout.contains("there are no domains"))
            #expect(!FileManager.default.fileExists(atPath: mount.sandbox.path + "/data/hydrant/credentials/work"))
        }
    }

    @Test("a wrong password is refused, and not kept")
    func wrongPassword() async throws {
        try await Self.withAccount { account in
            try account.add()
            let login = try account.login("wrong")
            #expect(login.status == 1 && login.stderr.contains("does not accept"), "\(login)")
            #expect(try account.hydrant("domain", "list").stdout.contains("none; hydrant login work"))
        }
    }

    @Test("the password is in no command line, environment or log, and the daemon dumps no core")
    func secrecy() async throws {
        try await Self.withAccount { account in
            let mount = account.mount
            try account.add()
            #expect(try account.login().succeeded)
            try account.mountIt()
            try mount.run("echo x > x")
            try mount.sync()
            let pid = try Seeding(mount.sandbox.path).text("data/hydrant/domains/work/lock")
                .trimmingCharacters(in: .whitespacesAndNewlines)
            for file in ["cmdline", "environ"] {
                let bytes = FileManager.default.contents(atPath: "/proc/\(pid)/\(file)") ?? Data()
                #expect(bytes.range(of: Data(TestServer.password.utf8)) == nil, "\(file)")
            }
            #expect(try mount.logLines(with: TestServer.password) == 0)
            let limits = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8)
            let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
            #expect(core?.split(separator: " ").contains("1") == true, "\(core ?? "")")
            var status = stat()
            #expect(stat(mount.sandbox.path + "/data/hydrant/credentials/work", &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
            let inURL = try account.hydrant("mount", "webdavs://alice:secret@localhost/", mount.mountPoint)
            #expect(inURL.status == 1 && inURL.stderr.contains("a password must not be in a URL"), "\(inURL)")
        }
    }

    @Test("after the password is revoked the domain is offline and says so; a login continues it without a remount")
    func revoked() async throws {
        try await Self.withAccount { account in
            let (mount, server) = (account.mount, account.server)
            try Seeding(server.root).file("here.txt", "here\n")
            try Seeding(server.root).file("there.txt", "there\n")
            try account.add()
            #expect(try account.login().succeeded)
            try account.mountIt()
            #expect(try mount.run("cat here.txt") == "here\n")
            try server.setPassword("another one")
            let read = try mount.shell("cat there.txt")
            #expect(!read.succeeded && read.stderr.contains("Permission denied"), "\(read)")
            #expect(try account.status().contains("offline since"))
            #expect(try account.status().contains("does not accept the user name and password"))
            #expect(try mount.run("cat here.txt; echo mine > mine.txt; cat mine.txt") == "here\nmine\n")
            let events = try account.hydrant("events", mount.mountPoint, "--no-follow", "--last", "100").stdout
            #expect(events.contains("offline"), "\(events)")
            #expect(try account.login("another one").succeeded)
            try waitUntil(10, "it is on again") { try account.status().contains("online since") }
            #expect(try mount.run("cat there.txt") == "there\n")
            try mount.sync()
            #expect(try Seeding(server.root).text("mine.txt") == "mine\n")
        }
    }

    @Test("offline, at the start and later: downloaded documents can be read and written, placeholders fail at once")
    func offline() async throws {
        try await Self.withAccount { account in
            let (mount, server) = (account.mount, account.server)
            try Seeding(server.root).file("here.txt", "here\n")
            try Seeding(server.root).file("there.txt", "there\n")
            try account.add()
            #expect(try account.login().succeeded)
            server.kill()
            try account.mountIt()
            let listing = try mount.shell("ls", limit: 40)
            #expect(!listing.succeeded && listing.stderr.contains("No route to host"), "\(listing)")
            #expect(try account.status().contains("offline since"))
            try server.start()
            try waitUntil(40, "it is back") { try mount.shell("cat here.txt").stdout == "here\n" }
            server.kill()
            #expect(try !mount.shell("cat there.txt", limit: 40).succeeded)
            // Known to be away: no time-out is waited for.
            let start = ContinuousClock.now
            let again = try mount.shell("cat there.txt")
            #expect(!again.succeeded && again.stderr.contains("No route to host"), "\(again)")
            #expect(start.duration(to: .now) < .seconds(20))
            #expect(
                try mount.run("cat here.txt; echo more >> here.txt; echo new > new.txt; mkdir d; ls")
                    == "here\nd\nhere.txt\nnew.txt\nthere.txt\n")
            #expect(
                try account.status().contains("changes pending") || account.status().contains("changes are pending"))
            try server.start()
            try waitUntil(40, "all is sent, without a command") {
                (try? Seeding(server.root).text("new.txt")) == "new\n"
                    && (try? Seeding(server.root).text("here.txt")) == "here\nmore\n"
            }
            #expect(try mount.run("cat there.txt") == "there\n")
        }
    }

    @Test("logout with pending changes is refused, or puts the changed documents aside")
    func pending() async throws {
        try await Self.withAccount { account in
            let (mount, server) = (account.mount, account.server)
            try account.add()
            #expect(try account.login().succeeded)
            let mounted = try account.hydrant("mount", "work", mount.mountPoint)
            #expect(mounted.succeeded, "\(mounted)")
            try mount.run("ls")
            server.kill()
            try mount.run("echo only copy > letter.txt")
            #expect(try account.hydrant("unmount", mount.mountPoint).succeeded)
            let refused = try account.hydrant("logout", "work")
            #expect(refused.status == 1 && refused.stderr.contains("not in the store yet"), "\(refused)")
            let result = try mount.sandbox.run(
                ["sh", "-c", "cd \"$SCRATCH\" && exec \"$HYDRANT\" logout work --force --put-aside aside/here --json"],
                environment: mount.environment, limit: 20)
            #expect(result.succeeded && result.stdout.contains("aside/here"), "\(result)")
            // Told before it is done.
            #expect(result.stderr.contains("are put into") && refused.stderr.contains("/put-aside/work-"), "\(result)")
            #expect(try Seeding(mount.scratch).text("aside/here/letter.txt") == "only copy\n")
            #expect(try Seeding(mount.scratch).names() == ["aside"])
            #expect(!FileManager.default.fileExists(atPath: mount.sandbox.path + "/data/hydrant/domains/work"))
        }
    }

    @Test(
        "thumbnails = false in config.toml is obeyed; a logout removes the pictures, mounted or not",
        arguments: [true, false])
    func thumbnails(_ isMounted: Bool) async throws {
        try await Self.withAccount { account in
            let (mount, server) = (account.mount, account.server)
            try Seeding(server.root).file("a.xyz", "document\n")
            try account.add()
            #expect(try account.login().succeeded)
            let file = mount.sandbox.path + "/home/.config/hydrant/config.toml"
            let text = try String(contentsOfFile: file, encoding: .utf8)
            try (text + "thumbnails = false\n").write(toFile: file, atomically: true, encoding: .utf8)
            try account.mountIt()
            let pictures = "find \"$SCRATCH/../home/.cache\" -name '*.png' 2>/dev/null | wc -l"
            try mount.run(
                TestPicture.shell + """
                    picture 90 60 ff0000 "$SCRATCH/red.png"
                    "$HYDRANT" thumbnails status "$MOUNT" --json | grep -q '"on" : false'
                    "$HYDRANT" thumbnail a.xyz --set "$SCRATCH/red.png" >/dev/null
                    ls >/dev/null; sleep 0.5; [ "$(\(pictures))" = 0 ]
                    # (What somebody says counts more.)
                    "$HYDRANT" thumbnails on "$MOUNT" >/dev/null
                    touch b.xyz; ls >/dev/null; until [ "$(\(pictures))" = 4 ]; do sleep 0.05; done
                    "$HYDRANT" sync "$MOUNT" --timeout 20
                    """)
            if !isMounted { #expect(try account.hydrant("unmount", mount.mountPoint).succeeded) }
            #expect(try mount.shell("cd /; [ \"$(\(pictures))\" = 4 ]").succeeded)
            #expect(try account.hydrant("logout", "work").succeeded)
            #expect(try mount.shell("cd /; [ \"$(\(pictures))\" = 0 ]").succeeded)
        }
    }

    @Test(
        "logout while programs have documents open: they can go on with these and get no others, then everything is removed"
    )
    func logoutInUse() async throws {
        try await Self.withAccount { account in
            let (mount, server) = (account.mount, account.server)
            try Seeding(server.root).file("read.txt", "read\n")
            try Seeding(server.root).file("other.txt", "other\n")
            try account.add()
            #expect(try account.login().succeeded)
            try account.mountIt()
            let state = mount.sandbox.path + "/data/hydrant/domains/work"
            let program = try mount.startPython(
                """
                reading, other = os.open("read.txt", os.O_RDONLY), open("other.txt").read()
                def wait(said, awaited):
                    open(SCRATCH + "/" + said, "w").close()
                    while not os.path.exists(SCRATCH + "/" + awaited): time.sleep(0.01)
                open("late.txt", "w").close(); os.pread(reading, 9, 0)
                wait("made", "sent")
                writing, folder = os.open("late.txt", os.O_RDWR), os.open(".", os.O_RDONLY)
                os.chdir("/")
                wait("ready", "go")
                print(os.pread(reading, 9, 0))
                print(fails(lambda: os.open("read.txt", os.O_RDONLY, dir_fd=folder)), fails(os.listdir, folder))
                print(fails(lambda: os.open("new.txt", os.O_WRONLY | os.O_CREAT, dir_fd=folder)))
                os.write(writing, b"late"); os.close(writing); os.close(reading); os.close(folder)
                """)
            defer { program.destroy() }
            func wait(_ name: String) throws {
                try waitUntil(20, name) { try Seeding(mount.scratch).names().contains(name) }
            }
            try wait("made")
            try mount.sync()
            try Seeding(mount.scratch).file("sent", "")
            try wait("ready")
            let out = try account.hydrant("logout", "work")
            #expect(
                out.succeeded && out.stdout.contains("these programs have documents open")
                    && out.stdout.contains("python3"),
                "\(out)")
            #expect(!FileManager.default.fileExists(atPath: mount.sandbox.path + "/data/hydrant/credentials/work"))
            #expect(try mount.run("ls -A") == "")
            try Seeding(mount.scratch).file("go", "")
            let rest = program.wait(limit: 20)
            #expect(rest.stdout.contains("b'read\\n'\nEACCES EACCES\nEACCES\n"), "\(rest)")
            try waitUntil(30, "nothing is left") { !FileManager.default.fileExists(atPath: state + "/catalog.sqlite") }
            let aside = mount.sandbox.path + "/data/hydrant/put-aside"
            let folder = try #require(try FileManager.default.contentsOfDirectory(atPath: aside).first)
            #expect(try Seeding(aside).text(folder + "/late.txt") == "late")
        }
    }

    @Test(
        "logout of a mount with pending changes is refused, and the mount goes on; --force puts the documents aside"
    )
    func logoutPending() async throws {
        try await Self.withAccount { account in
            let (mount, server) = (account.mount, account.server)
            try account.add()
            #expect(try account.login().succeeded)
            try account.mountIt()
            try mount.run("ls")
            server.kill()
            try mount.run("echo only copy > letter.txt")
            let refused = try account.hydrant("logout", mount.mountPoint)
            #expect(refused.status == 1 && refused.stderr.contains("not in the store yet"), "\(refused)")
            #expect(try mount.run("cat letter.txt") == "only copy\n")
            let aside = mount.scratch + "/aside"
            let out = try account.hydrant("logout", mount.mountPoint, "--force", "--put-aside", aside)
            #expect(out.succeeded, "\(out)")
            #expect(try Seeding(aside).text("letter.txt") == "only copy\n" && mount.run("ls -A") == "")
            #expect(!FileManager.default.fileExists(atPath: mount.sandbox.path + "/data/hydrant/domains/work"))
        }
    }

    @Test("a mount before the first login says so, and status says how to sign in")
    func mountedTooEarly() async throws {
        try await Self.withAccount { account in
            let mount = account.mount
            try Seeding(account.server.root).file("folder/there.txt", "there\n")
            try account.add()
            let mounted = try account.hydrant("mount", "work", mount.mountPoint)
            #expect(mounted.succeeded && mounted.stderr.contains("hydrant login work"), "\(mounted)")
            let listed = try mount.shell("ls")
            #expect(!listed.succeeded, "\(listed)")
            #expect(try account.status().contains("not signed in; hydrant login work"))
            #expect(
                try account.hydrant("status", mount.mountPoint).stdout.contains("not signed in; hydrant login work"))
            let folder = try account.hydrant("status", mount.mountPoint + "/folder")
            #expect(folder.stderr.contains("not signed in; hydrant login work"), "\(folder)")
            #expect(try account.login().succeeded)
            #expect(try mount.run("cat folder/there.txt") == "there\n")
            #expect(try !account.status().contains("not signed in"))
        }
    }

    @Test(
        "bookmarks and rights are void after a sign-out, and valid again after the next mount, but not after domain remove"
    )
    func bookmarks() async throws {
        try await Self.withAccount { account in
            let (mount, server) = (account.mount, account.server)
            for name in ["letter.txt", "gone.txt"] { try Seeding(server.root).file(name, "\(name)\n") }
            try account.add()
            #expect(try account.login().succeeded)
            try account.mountIt()
            func make(_ name: String) throws -> String {
                let made = try account.hydrant("bookmark", "make", mount.mountPoint + "/" + name, "--grant", "write")
                #expect(made.succeeded, "\(made)")
                return made.stdout.trimmingCharacters(in: .newlines)
            }
            let (letter, gone) = (try make("letter.txt"), try make("gone.txt"))
            try mount.run("mkdir folder; mv letter.txt folder/moved.txt; rm gone.txt; \"$HYDRANT\" sync \"$MOUNT\"")
            #expect(try account.hydrant("unmount", mount.mountPoint).succeeded)
            #expect(try account.hydrant("logout", "work").succeeded)
            // Once more: there is nothing to sign out of, and nothing is lost by it.
            #expect(try account.hydrant("logout", "work").succeeded)
            try Seeding(server.root).file("gone.txt", "another one\n")
            let away = try account.hydrant("bookmark", "resolve", letter)
            #expect(
                away.status == 69 && away.stderr.contains("work") && away.stderr.contains("is not mounted"), "\(away)")

            #expect(try account.login().succeeded)
            try account.mountIt()
            let found = try account.hydrant("bookmark", "resolve", letter)
            #expect(found.stdout == mount.mountPoint + "/folder/moved.txt\n", "\(found)")
            let read = try account.hydrant("access", letter, "--", "cat", "{}")
            #expect(read.stdout == "letter.txt\n", "\(read)")
            let missing = try account.hydrant("bookmark", "resolve", gone)
            #expect(missing.status == 1 && missing.stderr.contains("is gone"), "\(missing)")
            let grants = try account.hydrant("grants", mount.mountPoint).stdout
            #expect(grants.contains(mount.mountPoint + "/folder/moved.txt"), "\(grants)")

            #expect(try account.hydrant("unmount", mount.mountPoint).succeeded)
            #expect(try account.hydrant("domain", "remove", "work").succeeded)
            #expect(!FileManager.default.fileExists(atPath: mount.sandbox.path + "/data/hydrant/domains/work"))
            try account.add()
            #expect(try account.login().succeeded)
            try account.mountIt()
            let forgotten = try account.hydrant("bookmark", "resolve", letter)
            #expect(forgotten.status == 69 && forgotten.stderr.contains("was removed"), "\(forgotten)")
        }
    }

    @Test("the keyring keeps the password where one runs")
    func keyring() async throws {
        try await Self.withAccount { account in
            try account.add()
            let script = """
                set -e
                printf 'keyring' | gnome-keyring-daemon --unlock --components=secrets > /dev/null
                printf '%s\\n' '\(TestServer.password)' | "$HYDRANT" login work --password-stdin
                "$HYDRANT" domain list
                "$HYDRANT" logout work
                "$HYDRANT" domain list
                """
            let result = try account.mount.sandbox.run(
                ["dbus-run-session", "--", "sh", "-c", script], environment: account.mount.environment, limit: 40)
            #expect(result.succeeded, "\(result)")
            #expect(result.stdout.contains("work: the password is kept in: Secret Service"), "\(result)")
            #expect(
                result.stdout.contains("  password: Secret Service") && result.lines.last?.contains("none") == true,
                "\(result)")
        }
    }

    @Test("a helper command provides the password, and Hydrant keeps none")
    func helper() async throws {
        try await Self.withAccount { account in
            let mount = account.mount
            try account.add()
            let file = mount.sandbox.path + "/home/.config/hydrant/config.toml"
            let text = try String(contentsOfFile: file, encoding: .utf8)
            try (text + "password-command = [\"echo\", \"\(TestServer.password)\"]\n")
                .write(toFile: file, atomically: true, encoding: .utf8)
            try account.mountIt()
            try mount.run("echo x > x")
            try mount.sync()
            #expect(try account.hydrant("domain", "list").stdout.contains("password: command echo"))
            #expect(!FileManager.default.fileExists(atPath: mount.sandbox.path + "/data/hydrant/credentials/work"))
        }
    }

    @Test(
        "a mistake in config.toml is reported with its line, and nothing is done",
        arguments: [
            (
                "[domains.work]\nurl = \"https://localhost/\"\nuzer = \"a\"\n",
                "config.toml:3: “uzer”: unknown key; is user meant?"
            ),
            ("[domains.work]\nurl = 5\n", "config.toml:2: “url” takes a text"),
            ("[domains.work]\nurl = \"https://localhost/\n", "config.toml:2: "),
            ("\n\n[domain.work]\n", "config.toml:3: “domain”: unknown section"),
            ("[domains.work]\nuser = \"a\"\n", "config.toml:1: the domain has no url"),
            ("[domains.work]\nurl = \"https://a:b@localhost/\"\n", "config.toml:2: a password must not be"),
        ])
    func mistakes(_ text: String, _ message: String) async throws {
        try await withSandbox(Self.options) { mount in
            try Seeding(mount.sandbox.path + "/home").file(".config/hydrant/config.toml", text)
            for arguments in [["domain", "list"], ["mount", "work", mount.mountPoint]] {
                let result = try mount.hydrant(arguments)
                #expect(result.status == 1 && result.stderr.contains(message), "\(result)")
            }
            #expect(!mount.isMounted)
        }
    }
}

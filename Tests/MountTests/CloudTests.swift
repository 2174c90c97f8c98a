import Foundation
import Glibc
import MountHarness
import Testing
import WebDAVHarness

/// A user's Nextcloud, with the real command: the sign-in with a browser, others' changes, names, locks. (The server is a
/// double that answers as a Nextcloud 34.)
@Suite("hydrant with a Nextcloud")
struct CloudTests {
    private struct Cloud {
        let mount: MountedStore
        let server: TestServer

        /// A program that a desktop opens pages with: here a user who grants everything at once.
        static let browser = """
            #!/bin/sh
            echo "$1" >>"$SCRATCH/pages"
            curl -sk -o "$SCRATCH/page" "$1"
            [ -e "$SCRATCH/idle" ] || curl -sk -o "$SCRATCH/granted" -d grant=1 "$1"

            """

        var base: String { String(server.url.dropLast(server.path.utf8.count - 1)) }

        func environment(isDesktop: Bool = true) throws -> [String: String] {
            let folder = mount.sandbox.path + "/bin"
            try Seeding(mount.sandbox.path).file("bin/xdg-open", Self.browser)
            guard chmod(folder + "/xdg-open", 0o755) == 0 else { throw HarnessError("chmod") }
            var all = mount.environment
            all["PATH"] = folder + ":/usr/bin:/bin"
            all["DISPLAY"] = isDesktop ? ":77" : ""
            all["WAYLAND_DISPLAY"] = ""
            return all
        }

        func hydrant(_ words: String..., isDesktop: Bool = true) throws -> ChildResult {
            try mount.sandbox.run(
                [Sandbox.executable] + words, environment: try environment(isDesktop: isDesktop), limit: 30)
        }

        func start(_ words: String...) throws -> MountHarness.ChildProcess {
            try mount.sandbox.spawn([Sandbox.executable] + words, environment: try environment(isDesktop: false))
        }

        /// What a user does who reads the address of a running command.
        func page(of command: MountHarness.ChildProcess) throws -> String {
            var page: Substring?
            try waitUntil(20, "the page is shown: \(command.stderr)") {
                guard command.isRunning else { throw HarnessError("it has ended: \(command.stderr)") }
                page = command.stderr.split(whereSeparator: \.isWhitespace).first { $0.contains("/login/v2/flow/") }
                return page != nil && command.stderr.contains("Ctrl-C")
            }
            return String(page ?? "")
        }

        func grant(_ page: String) throws {
            let result = try mount.sandbox.run(["curl", "-skf", "-d", "grant=1", page], limit: 20)
            guard result.succeeded, result.stdout.contains("Account connected") else { throw HarnessError("\(result)") }
        }

        var config: String {
            (try? Seeding(mount.sandbox.path).text("home/.config/hydrant/config.toml")) ?? ""
        }
        func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: mount.sandbox.path + "/" + path) }

        func mountIt(_ variables: [String: String] = [:]) throws {
            let all = try environment(isDesktop: false).merging(variables) { $1 }
            let result = try mount.sandbox.run(
                [Sandbox.executable, "mount", "work", mount.mountPoint, "--log-level", "debug"], environment: all,
                limit: 20)
            guard result.succeeded else { throw HarnessError("mount: \(result)") }
        }

        func signIn() throws {
            let added = try hydrant("domain", "add", "work", base)
            guard added.succeeded else { throw HarnessError("domain add: \(added)") }
        }
    }

    private static func withCloud(
        isSecure: Bool = false, capabilities: String = "{}", limit: Double = 90,
        _ body: @escaping @Sendable (Cloud) throws -> Void
    ) async throws {
        var options = ServerOptions()
        (options.wantsPassword, options.isSecure) = (true, isSecure)
        try await withServer(.nextcloud, options) { server in
            try server.tell("capabilities", capabilities)
            try await withSandbox(.with { $0.limit = limit }) { mount in
                try body(Cloud(mount: mount, server: server))
            }
        }
    }

    // MARK: The sign-in

    @Test("domain add opens the browser, keeps the app password, mounts; logout revokes it")
    func wholeWay() async throws {
        try await Self.withCloud(isSecure: true) { cloud in
            try Seeding(cloud.server.root).file("there.txt", "there\n")
            let added = try cloud.hydrant(
                "domain", "add", "work", cloud.base, "--certificate-authority", cloud.server.authority)
            #expect(added.succeeded && added.stderr.contains("/login/v2/flow/"), "\(added)")
            #expect(added.stdout.contains("next: hydrant mount work") && added.stdout.contains("credentials/work"))
            // The page shows for whom the access is; the browser was given that page.
            #expect(try Seeding(cloud.mount.scratch).text("page").contains("Hydrant ("))
            #expect(try added.stderr.contains(Seeding(cloud.mount.scratch).text("pages").split(separator: "\n")[0]))
            #expect(cloud.config.contains("url = \"\(cloud.server.url)\"") && cloud.config.contains("user = \"alice\""))
            let password = try #require(cloud.server.appPasswords.first)
            #expect(try Seeding(cloud.mount.sandbox.path).text("data/hydrant/credentials/work") == password)
            #expect(!(added.stdout + added.stderr + cloud.config).contains(password))
            try cloud.mountIt()
            #expect(try cloud.mount.run("cat there.txt; echo mine >mine.txt") == "there\n")
            try cloud.mount.sync()
            #expect(try Seeding(cloud.server.root).text("mine.txt") == "mine\n")
            let out = try cloud.hydrant("logout", "work", "--json")
            #expect(out.succeeded && out.stdout.contains("\"appPassword\" : \"revoked\""), "\(out)")
            #expect(cloud.server.appPasswords == [] && !cloud.exists("data/hydrant/app-passwords/work"))
            #expect(!cloud.exists("data/hydrant/credentials/work"))
        }
    }

    @Test("without a desktop and a terminal the address is printed, and the command waits; --json is one object")
    func noDesktop() async throws {
        try await Self.withCloud { cloud in
            let adding = try cloud.start("domain", "add", "work", cloud.base, "--json")
            let page = try cloud.page(of: adding)
            #expect(cloud.config == "" && adding.stdout == "" && !adding.stderr.contains("desktop was asked"))
            try cloud.grant(page)
            let added = adding.wait(limit: 20)
            let json = try JSONSerialization.jsonObject(with: Data(added.stdout.utf8)) as? [String: Any]
            #expect(json?["url"] as? String == cloud.server.url && json?["user"] as? String == "alice", "\(added)")
            #expect((json?["credential"] as? String)?.contains("credentials/work") == true, "\(added)")
            #expect(!cloud.exists("tmp/pages"))
        }
    }

    @Test("Ctrl-C while it waits leaves everything as it was") func interrupted() async throws {
        try await Self.withCloud { cloud in
            let adding = try cloud.start("domain", "add", "work", cloud.base)
            _ = try cloud.page(of: adding)
            adding.signal(SIGINT)
            let ended = adding.wait(limit: 20)
            #expect(ended.status == 128 + SIGINT && !ended.timedOut, "\(ended)")
            #expect(!cloud.config.contains("work") && cloud.server.appPasswords == [])
            #expect(!cloud.exists("data/hydrant/credentials/work"))
            // Afterwards it works.
            try cloud.signIn()
        }
    }

    @Test("when nobody signs in, the command ends in time and leaves everything as it was") func nobody() async throws {
        try await Self.withCloud { cloud in
            try Seeding(cloud.mount.scratch).file("idle", "")
            let all = try cloud.environment().merging(["HYDRANT_SIGN_IN_PATIENCE": "2"]) { $1 }
            let added = try cloud.mount.sandbox.run(
                [Sandbox.executable, "domain", "add", "work", cloud.base], environment: all, limit: 30)
            #expect(added.status == 1 && added.stderr.contains("nobody signed in"), "\(added)")
            #expect(!cloud.config.contains("work") && !cloud.exists("data/hydrant/credentials/work"))
        }
    }

    @Test("login signs in with the browser too, replaces Hydrant's own password, and a mount that waits goes on")
    func loginAgain() async throws {
        try await Self.withCloud { cloud in
            try Seeding(cloud.server.root).file("there.txt", "there\n")
            let added = try cloud.hydrant("domain", "add", "work", cloud.server.url, "--user", TestServer.user)
            #expect(added.succeeded && added.stdout.contains("next: hydrant login work"), "\(added)")
            let first = try cloud.hydrant("login", "work")
            #expect(first.succeeded && cloud.server.appPasswords.count == 1, "\(first)")
            let old = cloud.server.appPasswords
            try cloud.mountIt()
            #expect(try cloud.mount.run("ls") == "there.txt\n")
            // The user removes the password on the server.
            try cloud.server.tell("app-passwords", "[]")
            #expect(try !cloud.mount.shell("cat there.txt").succeeded)
            let second = try cloud.hydrant("login", "work", "--json")
            #expect(second.succeeded && cloud.server.appPasswords.count == 1, "\(second)")
            #expect(cloud.server.appPasswords != old)
            try waitUntil(20, "it goes on") { try cloud.mount.shell("cat there.txt").stdout == "there\n" }
            // Once more: the one before is of no use any more.
            #expect(try cloud.hydrant("login", "work").succeeded)
            #expect(cloud.server.appPasswords.count == 1)
            // A password of the user's own is not Hydrant's to revoke.
            let own = try cloud.mount.sandbox.run(
                ["sh", "-c", "echo '\(TestServer.password)' | \"$HYDRANT\" login work --password-stdin"],
                environment: cloud.mount.environment, limit: 20)
            #expect(own.succeeded, "\(own)")
            #expect(cloud.server.appPasswords == [], "Hydrant's own is of no use any more")
            let out = try cloud.hydrant("logout", "work", "--json")
            #expect(out.succeeded && !out.stdout.contains("revoked"), "\(out)")
        }
    }

    @Test("the sign-in of another user is refused, and nothing is kept") func otherUser() async throws {
        try await Self.withCloud { cloud in
            let url = cloud.base + "remote.php/dav/files/bob/"
            #expect(try cloud.hydrant("domain", "add", "work", url, "--user", "bob").succeeded)
            let login = try cloud.hydrant("login", "work")
            #expect(login.status == 1 && login.stderr.contains("you signed in as “alice”"), "\(login)")
            #expect(cloud.server.appPasswords == [] && !cloud.exists("data/hydrant/credentials/work"))
        }
    }

    @Test("the domain's user may sign in under another login name: an address") func address() async throws {
        try await Self.withCloud { cloud in
            try Seeding(cloud.server.root).file("there.txt", "there\n")
            try cloud.signIn()
            try cloud.mountIt()
            #expect(try cloud.mount.run("ls") == "there.txt\n")
            try cloud.server.tell("app-passwords", "[]")
            #expect(try !cloud.mount.shell("cat there.txt").succeeded)
            let address = "alice@example.org"
            try cloud.server.tell("flow", #"{"end": {"loginName": "\#(address)"}, "alias": "\#(address)"}"#)
            let login = try cloud.hydrant("login", "work")
            #expect(login.succeeded && cloud.server.appPasswords.count == 1, "\(login)")
            #expect(cloud.config.contains("user = \"alice\""), "it is the same domain")
            try waitUntil(20, "it goes on") { try cloud.mount.shell("cat there.txt").stdout == "there\n" }
            let out = try cloud.hydrant("logout", "work", "--json")
            #expect(out.stdout.contains("\"appPassword\" : \"revoked\"") && cloud.server.appPasswords == [], "\(out)")
        }
    }

    @Test("a server that is away when its domain is added: the reason is shown, and login signs in later")
    func addedWhileAway() async throws {
        try await Self.withCloud { cloud in
            try Seeding(cloud.server.root).file("there.txt", "there\n")
            cloud.server.kill()
            let added = try cloud.hydrant("domain", "add", "work", cloud.base)
            #expect(added.succeeded && added.stderr.contains("Connection refused"), "\(added)")
            #expect(added.stdout.contains("next: hydrant login work"), "\(added)")
            let early = try cloud.hydrant("login", "work")
            #expect(early.status == 1 && early.stderr.contains("Connection refused"), "\(early)")
            try cloud.server.start()
            // (Somebody may have mounted it in vain.)
            try cloud.mountIt()
            let mounted = try cloud.hydrant("login", "work")
            #expect(mounted.status == 1 && mounted.stderr.contains("unmount it first"), "\(mounted)")
            try cloud.mount.unmount()
            let login = try cloud.hydrant("login", "work")
            #expect(login.succeeded && cloud.server.appPasswords.count == 1, "\(login)")
            #expect(cloud.config.contains("url = \"\(cloud.server.url)\"") && cloud.config.contains("user = \"alice\""))
            try cloud.mountIt()
            #expect(try cloud.mount.run("cat there.txt") == "there\n")
        }
    }

    @Test(
        "the address of a page of Nextcloud's is as good as the server's",
        arguments: ["index.php/apps/files/", "apps/files"])
    func page(_ path: String) async throws {
        try await Self.withCloud { cloud in
            let added = try cloud.hydrant("domain", "add", "work", cloud.base + path)
            #expect(added.succeeded && cloud.config.contains("url = \"\(cloud.server.url)\""), "\(added)")
        }
    }

    @Test("a server that redirects elsewhere says so when its domain is added") func redirected() async throws {
        try await Self.withCloud { cloud in
            let proxy = try FaultProxy(to: cloud.server)
            defer { proxy.end() }
            let head = "HTTP/1.1 302 Found\r\nLocation: https://cloud.invalid/status.php\r\n"
            proxy.inject(.reply(head + "Content-Length: 0\r\nConnection: close\r\n\r\n"), into: "GET", times: 100)
            let added = try cloud.hydrant("domain", "add", "work", "http://localhost:\(proxy.port)/")
            #expect(added.stderr.contains("redirects to https://cloud.invalid"), "\(added)")
        }
    }

    @Test("Ctrl-C just after the grant leaves no app password behind") func interruptedLate() async throws {
        try await Self.withCloud { cloud in
            try cloud.server.tell("user", #"{"held": true}"#)
            let adding = try cloud.start("domain", "add", "work", cloud.base)
            try cloud.grant(try cloud.page(of: adding))
            try waitUntil(20, "it asks who has signed in") {
                FileManager.default.fileExists(atPath: cloud.server.root + ".state/asked.json")
            }
            #expect(cloud.server.appPasswords.count == 1)
            adding.signal(SIGINT)
            let ended = adding.wait(limit: 20)
            try cloud.server.tell("user", "{}")
            #expect(ended.status == 128 + SIGINT && !ended.timedOut, "\(ended)")
            #expect(cloud.server.appPasswords == [], "\(ended)")
            #expect(!cloud.config.contains("[domains.work]") && !cloud.exists("data/hydrant/credentials/work"))
        }
    }

    @Test("a server that does not say who has signed in ends the sign-in, and the app password goes") func nameless()
        async throws
    {
        try await Self.withCloud { cloud in
            try cloud.server.tell("user", #"{"status": 403}"#)
            let added = try cloud.hydrant("domain", "add", "work", cloud.base)
            #expect(added.status == 1 && added.stderr.contains("does not say who has signed in (403)"), "\(added)")
            #expect(!cloud.config.contains("[domains.work]") && cloud.server.appPasswords == [])
        }
    }

    @Test("when the answer with the app password is lost, the command says what to do about it") func lostGrant()
        async throws
    {
        try await Self.withCloud { cloud in
            let proxy = try FaultProxy(to: cloud.server)
            defer { proxy.end() }
            proxy.inject(.cut(5), into: "POST", path: "/login/v2/poll", times: 1_000)
            let all = try cloud.environment().merging(["HYDRANT_SIGN_IN_PATIENCE": "5"]) { $1 }
            let added = try cloud.mount.sandbox.run(
                [Sandbox.executable, "domain", "add", "work", "http://localhost:\(proxy.port)/"], environment: all,
                limit: 30)
            #expect(added.status == 1 && added.stderr.contains("remove Hydrant's app password there"), "\(added)")
        }
    }

    @Test("logout from a server that does not answer signs out here, and says what is left there")
    func unreachable() async throws {
        try await Self.withCloud { cloud in
            try cloud.signIn()
            cloud.server.kill()
            let out = try cloud.hydrant("logout", "work")
            #expect(out.succeeded && out.stderr.contains("remove it there by hand"), "\(out)")
            #expect(!cloud.exists("data/hydrant/credentials/work") && !cloud.exists("data/hydrant/app-passwords/work"))
            try cloud.server.start()
            #expect(cloud.server.appPasswords.count == 1)
            #expect(try cloud.hydrant("login", "work").succeeded)
            let removed = try cloud.hydrant("domain", "remove", "work")
            #expect(removed.succeeded && cloud.server.appPasswords.count == 1, "\(removed)")
        }
    }

    @Test(
        "answers to the sign-in that name another server, or nothing usable, are refused",
        arguments: [
            #"{"begin": {"login": "http://evil.example/index.php/login/v2/flow/x"}}"#,
            #"{"begin": {"poll": {"token": "t", "endpoint": "https://localhost/login/v2/poll"}}}"#,
            #"{"begin": {"poll": {"token": "", "endpoint": "ORIGIN/login/v2/poll"}}}"#,
            #"{"begin": {"login": "ORIGIN/\u001b[31m"}}"#,
            #"{"end": {"loginName": "", "appPassword": "x"}}"#,
            #"{"end": {"loginName": "al\u001bice"}}"#,
            #"{"end": {"loginName": "mallory"}}"#,
        ])
    func hostile(_ answers: String) async throws {
        try await Self.withCloud { cloud in
            let origin = String(cloud.base.dropLast())
            try cloud.server.tell("flow", answers.replacingOccurrences(of: "ORIGIN", with: origin))
            let added = try cloud.hydrant("domain", "add", "work", cloud.base)
            #expect(added.status == 1 && !added.stderr.contains("\u{1b}"), "\(added)")
            #expect(!cloud.config.contains("[domains.work]") && !cloud.exists("data/hydrant/credentials/work"))
            // What cannot be revoked, because its user is none, is said.
            let isLeft = !cloud.server.appPasswords.isEmpty
            #expect(isLeft == answers.contains("\"end\""))
            #expect(added.stderr.contains("remove it there by hand") == isLeft, "\(added)")
        }
    }

    @Test("a server that is no Nextcloud is added as before") func otherServers() async throws {
        try await withServer(.wsgidav) { server in
            try await withSandbox(.with { $0.limit = 60 }) { mount in
                let added = try Cloud(mount: mount, server: server).hydrant("domain", "add", "work", server.url)
                #expect(added.succeeded && added.stderr == "", "\(added)")
                #expect(added.stdout.contains("next: hydrant mount work"), "\(added)")
            }
        }
    }

    // MARK: Others' changes

    @Test("others' changes show in the mount at once, without polling") func push() async throws {
        try await Self.withCloud(capabilities: #"{"notify_push": true}"#) { cloud in
            let (mount, store) = (cloud.mount, Seeding(cloud.server.root))
            try store.file("f/a.txt", "one\n")
            try store.folder("f/g")
            try store.file("gone.txt", "x")
            try cloud.signIn()
            // So rarely that no poll can be the reason.
            try cloud.mountIt(["HYDRANT_POLL": "3600"])
            #expect(try mount.run("cat f/a.txt; ls; ls f f/g") == "one\nf\ngone.txt\nf:\na.txt\ng\n\nf/g:\n")
            try waitUntil(20, "the connection is up") { try mount.logLines(with: "the server tells of changes") == 1 }
            func shows(_ what: String, _ script: String, _ text: String) throws {
                try waitUntil(20, what) { try mount.shell(script).stdout == text }
            }
            try store.file("f/a.txt", "two, longer\n")
            try shows("a changed document", "cat f/a.txt", "two, longer\n")
            try store.file("f/g/new.txt", "new\n")
            try shows("a new document", "cat f/g/new.txt", "new\n")
            try store.file("new/folder/deep.txt", "deep\n")
            try shows("a new folder", "ls; cat new/folder/deep.txt", "f\ngone.txt\nnew\ndeep\n")
            try RealFileSystem(root: cloud.server.root).unlink("gone.txt")
            try shows("a deletion", "ls", "f\nnew\n")
            try RealFileSystem(root: cloud.server.root).rename("f/a.txt", to: "moved.txt")
            try shows("a move", "ls . f", ".:\nf\nmoved.txt\nnew\n\nf:\ng\n")
            for number in 1...20 { try store.file("f/g/\(number)", "x") }
            try shows("many new documents", "ls f/g | wc -l", "21\n")
            // The server restarts: later changes still come.
            cloud.server.kill()
            try store.file("f/g/meanwhile.txt", "while nobody told\n")
            try cloud.server.start()
            try waitUntil(20, "the connection is up again") {
                try mount.logLines(with: "the server tells of changes") == 2
            }
            try shows("a change from before", "cat f/g/meanwhile.txt", "while nobody told\n")
            try store.file("f/g/new.txt", "after the restart\n")
            try shows("a change after the restart", "cat f/g/new.txt", "after the restart\n")
            let start = ContinuousClock.now
            try mount.unmount()
            #expect(start.duration(to: .now) < .seconds(20))
        }
    }

    // MARK: Names and locks

    @Test("a name that the server forbids stays here, and status says why") func names() async throws {
        let rules = #"{"files": {"forbidden_filename_basenames": ["con"], "forbidden_filename_characters": ["?"]}}"#
        try await Self.withCloud(capabilities: rules) { cloud in
            try cloud.signIn()
            try cloud.mountIt()
            try cloud.mount.run("echo 1 >con.txt; echo 2 >'what?'; echo 3 >good")
            var status = ""
            try waitUntil(20, "both are refused") {
                status = try cloud.hydrant("status", cloud.mount.mountPoint).stdout
                return status.components(separatedBy: "this server takes no").count == 3
            }
            #expect(status.contains("“con” before the first full stop") && status.contains("rename it"), "\(status)")
            try cloud.mount.run("mv con.txt console.txt; mv 'what?' what")
            try cloud.mount.sync()
            #expect(try Seeding(cloud.server.root).names() == ["console.txt", "good", "what"])
        }
    }

    @Test("a document that another user locks is read-only; a change waits, names the owner, and is sent afterwards")
    func locks() async throws {
        try await Self.withCloud(capabilities: #"{"notify_push": true, "files": {"locking": "1.0"}}"#) { cloud in
            try cloud.signIn()
            try cloud.mountIt(["HYDRANT_POLL": "3600", "HYDRANT_SETTLE": "3"])
            try cloud.mount.run("echo one >plan.txt")
            try cloud.mount.sync()
            #expect(try cloud.mount.run("cat plan.txt; stat -c %A plan.txt") == "one\n-rw-r--r--\n")
            try waitUntil(20, "the connection is up") {
                try cloud.mount.logLines(with: "the server tells of changes") == 1
            }
            // Changed here just before the lock.
            try cloud.mount.run("echo two >plan.txt")
            try cloud.server.tell("locks", #"{"plan.txt": {"owner": "bob", "name": "Bob \u202eB.", "type": 0}}"#)
            var status = ""
            try waitUntil(20, "the change waits for the lock") {
                status = try cloud.hydrant("status", cloud.mount.mountPoint).stdout
                return status.contains("is locked on the server by Bob")
            }
            #expect(!status.contains("\u{202e}") && status.contains("next try in"), "\(status)")
            try waitUntil(20, "it is read-only") { try cloud.mount.run("stat -c %A plan.txt") == "-r--r--r--\n" }
            #expect(try Seeding(cloud.server.root).text("plan.txt") == "one\n")
            try cloud.server.tell("locks", "{}")
            try cloud.mount.sync()
            #expect(try Seeding(cloud.server.root).text("plan.txt") == "two\n")
            try waitUntil(20, "it can be changed again") {
                try cloud.mount.run("stat -c %A plan.txt") == "-rw-r--r--\n"
            }
        }
    }
}

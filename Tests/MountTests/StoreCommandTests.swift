import Foundation
import MountHarness
import Testing

/// What users ask a store for beside documents, with the real command at a mount of a double of Nextcloud: links, the
/// trash, favourites and tags, and documents that may only be read.
@Suite("hydrant share, hydrant trash, favourites: Nextcloud")
struct StoreCommandTests {
    private static let options = MountOptions.with {
        $0.store = .directory
        $0.limit = 120
        $0.environment["HYDRANT_POLL"] = "0.3"
    }

    private struct Account: Sendable {
        let mount: MountedStore
        let server: TestServer

        func hydrant(_ arguments: String..., input: String = "") throws -> ChildResult {
            let words = arguments.map { "'\($0)'" }.joined(separator: " ")
            return try mount.sandbox.run(
                ["sh", "-c", "printf '%s\\n' '\(input)' | \"$HYDRANT\" \(words)"], environment: mount.environment,
                limit: 40)
        }

        func path(_ name: String) -> String { "\(mount.mountPoint)/\(name)" }

        func objects(_ result: ChildResult) throws -> [[String: Any]] {
            guard let all = try JSONSerialization.jsonObject(with: Data(result.stdout.utf8)) as? [[String: Any]] else {
                throw HarnessError("no array of objects: \(result)")
            }
            return all
        }

        /// A request of another client.
        func send(_ method: String, _ place: String, body: String = "") throws {
            let program = """
                import sys, urllib.request, base64
                method, url, login, body = sys.argv[1:]
                request = urllib.request.Request(url, body.encode(), {"Content-Type": "application/json",
                    "Authorization": "Basic " + base64.b64encode(login.encode()).decode()}, method=method)
                urllib.request.urlopen(request, timeout=20)
                """
            let result = try mount.sandbox.run(
                [
                    "/usr/bin/python3", "-c", program, method,
                    "http://localhost:\(server.port)/remote.php/dav/\(place)",
                    "\(TestServer.user):\(TestServer.password)", body,
                ], environment: [:], limit: 30)
            guard result.succeeded else { throw HarnessError("\(method) \(place): \(result)") }
        }

        /// An extended attribute as a program reads it; nil: there is none.
        func attribute(_ name: String, of path: String) throws -> String? {
            let result = try mount.shell(
                "python3 -c 'import os, sys; sys.stdout.write(os.getxattr(\"\(path)\", \"\(name)\").decode())'")
            if result.succeeded { return result.stdout }
            guard result.stderr.contains("No data available") else { throw HarnessError("\(path): \(result)") }
            return nil
        }

        func set(_ value: String, of path: String) throws -> ChildResult {
            try mount.shell(
                "python3 -c 'import os; os.setxattr(\"\(path)\", \"user.hydrant.favorite\", b\"\(value)\")'")
        }
    }

    private static func withAccount(
        mounts: String? = nil, seed: @escaping @Sendable (Seeding) throws -> Void,
        _ body: @escaping @Sendable (Account) throws -> Void
    ) async throws {
        var options = ServerOptions()
        options.wantsPassword = true
        options.mounts = mounts
        try await withServer(.nextcloud, options) { server in
            try seed(Seeding(server.root))
            try await withSandbox(Self.options) { mount in
                let account = Account(mount: mount, server: server)
                let added = try account.hydrant("domain", "add", "work", server.url, "--user", TestServer.user)
                guard added.succeeded else { throw HarnessError("domain add: \(added)") }
                let login = try account.hydrant("login", "work", "--password-stdin", input: TestServer.password)
                guard login.succeeded else { throw HarnessError("login: \(login)") }
                let mounted = try account.hydrant(
                    "mount", "work", mount.mountPoint, "--log-level", "debug", "--json")
                let pid = mounted.stdout.firstMatch(of: /"pid" *: *([0-9]+)/).flatMap { Int32($0.1) }
                guard mounted.succeeded, let pid else { throw HarnessError("mount: \(mounted)") }
                mount.sandbox.note(daemon: pid)
                try body(account)
            }
        }
    }

    @Test("a link is made, listed and ended; the password is in no log") func share() async throws {
        try await Self.withAccount(seed: { try $0.file("letters/june.txt", "dear all\n") }) { it in
            let path = it.path("letters/june.txt")
            let plain = try it.hydrant("share", path)
            #expect(
                plain.succeeded && plain.stdout.hasPrefix("http://localhost:\(it.server.port)/index.php/s/"), "\(plain)"
            )
            let made = try it.hydrant(
                "share", path, "--password-stdin", "--until", "2099-12-31", "--edit", "--json", input: "a long secret")
            let link = try #require(it.objects(made).first)
            #expect(link["hasPassword"] as? Bool == true && link["edits"] as? Bool == true, "\(made)")
            #expect(!it.mount.logTail.contains("a long secret"))
            let list = try it.hydrant("share", path, "--list")
            #expect(list.stdout.contains("with a password, to edit, until 2099-12-31"), "\(list)")
            #expect(list.stdout.contains("for everybody, to read\n"), "\(list)")
            let id = try #require(link["id"] as? String)
            #expect(try it.hydrant("share", path, "--end", id).stdout == "\(id)  ended\n")
            #expect(try it.objects(it.hydrant("share", path, "--list", "--json")).count == 1)
            #expect(try it.hydrant("share", path, "--end").succeeded)
            #expect(try it.hydrant("share", path, "--list", "--json").stdout == "[\n\n]\n")
            // Nothing left to end, a date that is over, a password that the server does not take.
            let none = try it.hydrant("share", path, "--end")
            #expect(!none.succeeded && none.stderr.contains("has no links"), "\(none)")
            let over = try it.hydrant("share", path, "--until", "2020-01-01")
            #expect(over.status == 64 && over.stderr.contains("this day is over"), "\(over)")
            let short = try it.hydrant("share", path, "--password-stdin", input: "short")
            #expect(
                !short.succeeded && short.stderr.contains("at least 8 characters") && short.stdout.isEmpty, "\(short)")
            #expect(try it.hydrant("share", path, "--list", "--json").stdout == "[\n\n]\n")
            // Not in the store yet.
            try it.mount.run("echo swap > letters/.june.txt.swp")
            let local = try it.hydrant("share", it.path("letters/.june.txt.swp"))
            #expect(!local.succeeded && local.stderr.contains("stays on this machine"), "\(local)")
            let events = try it.hydrant("events", it.mount.mountPoint, "--last", "100", "--no-follow")
            #expect(events.stdout.contains("shareLink") && events.stdout.contains("endSharedLink"), "\(events)")
        }
    }

    @Test("what was deleted here is in the trash, and comes back") func trash() async throws {
        try await Self.withAccount(seed: {
            try $0.file("letters/june.txt", "dear all\n")
            try $0.file("letters/july.txt", "dear nobody\n")
        }) { it in
            #expect(try it.hydrant("trash", it.mount.mountPoint, "--json").stdout == "[\n\n]\n")
            try it.mount.run("cat letters/june.txt; rm letters/june.txt")
            #expect(try it.hydrant("sync", it.mount.mountPoint, "--timeout", "60").succeeded)
            let path = it.path("letters/june.txt")
            let listed = try it.objects(it.hydrant("trash", it.mount.mountPoint, "--json"))
            let item = try #require(listed.first)
            #expect(listed.count == 1 && item["path"] as? String == path && item["name"] as? String == "june.txt")
            #expect(item["size"] as? Int == 9 && item["kind"] as? String == "document" && item["deleted"] is NSNumber)
            let lines = try it.hydrant("trash", it.mount.mountPoint)
            #expect(lines.stdout.contains("\(path)  june.txt.d"), "\(lines)")
            let restored = try it.hydrant("trash", "--restore", path)
            #expect(restored.succeeded && restored.stdout == "\(path)\n", "\(restored)")
            #expect(try it.mount.run("cat letters/june.txt") == "dear all\n", "it shows at once")
            // By its ID, under another name, because the name is taken.
            try it.mount.run("rm letters/june.txt")
            #expect(try it.hydrant("sync", it.mount.mountPoint, "--timeout", "60").succeeded)
            try it.mount.run("echo newer > letters/june.txt")
            #expect(try it.hydrant("sync", it.mount.mountPoint, "--timeout", "60").succeeded)
            let id = try #require(
                it.objects(it.hydrant("trash", it.mount.mountPoint, "--json")).first?["id"] as? String)
            let other = try it.hydrant("trash", it.mount.mountPoint, "--restore", id, "--json")
            let answer = try JSONSerialization.jsonObject(with: Data(other.stdout.utf8)) as? [String: Any]
            #expect(answer?["path"] as? String == it.path("letters/june (restored).txt"), "\(other)")
            #expect(try it.mount.run("cat letters/june*") == "dear all\nnewer\n")
            let gone = try it.hydrant("trash", "--restore", it.path("letters/july.txt"))
            #expect(!gone.succeeded && gone.stderr.contains("is not in the store's trash"), "\(gone)")
        }
    }

    @Test("favourites and tags are attributes: set here, they are in the store; set there, they show here")
    func marks() async throws {
        try await Self.withAccount(seed: {
            try $0.file("f/a.txt", "one")
            try $0.file("f/b.txt", "two")
        }) { it in
            #expect(try it.mount.run("ls f") == "a.txt\nb.txt\n")
            #expect(try it.attribute("user.hydrant.favorite", of: "f/a.txt") == "0")
            #expect(try it.attribute("user.hydrant.tags", of: "f/a.txt") == nil)
            #expect(try it.set("1", of: "f/a.txt").succeeded && it.set("1", of: "f").succeeded)
            #expect(try it.attribute("user.hydrant.favorite", of: "f/a.txt") == "1", "before the store has it")
            #expect(try it.hydrant("sync", it.mount.mountPoint, "--timeout", "60").succeeded)
            #expect(try it.attribute("user.hydrant.favorite", of: "f/a.txt") == "1", "and afterwards")
            for name in ["a.txt", "b.txt"] {
                #expect(try it.mount.run("python3 -c 'import os; print(os.listxattr(\"f/\(name)\"))'") == "[]\n")
            }
            let bad = try it.set("yes", of: "f/a.txt")
            #expect(!bad.succeeded && bad.stderr.contains("Invalid argument"), "\(bad)")
            // A new machine sees it, which shows that it is in the store; and another client takes it away.
            try it.mount.unmount()
            try FileManager.default.removeItem(atPath: it.mount.sandbox.path + "/data/hydrant/domains/work")
            let mounted = try it.hydrant("mount", "work", it.mount.mountPoint, "--log-level", "debug", "--json")
            let pid = mounted.stdout.firstMatch(of: /"pid" *: *([0-9]+)/).flatMap { Int32($0.1) }
            it.mount.sandbox.note(daemon: try #require(pid, "\(mounted)"))
            #expect(try it.mount.run("ls f") == "a.txt\nb.txt\n")
            #expect(try it.attribute("user.hydrant.favorite", of: "f/a.txt") == "1")
            #expect(try it.attribute("user.hydrant.favorite", of: "f") == "1")
            #expect(try it.attribute("user.hydrant.favorite", of: "f/b.txt") == "0")
            let taken = """
                <d:propertyupdate xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns"><d:set><d:prop>\
                <oc:favorite>0</oc:favorite></d:prop></d:set></d:propertyupdate>
                """
            try it.send("PROPPATCH", "files/alice/f/a.txt", body: taken)
            try waitUntil(60, "it shows here") { try it.attribute("user.hydrant.favorite", of: "f/a.txt") == "0" }
            let number = try #require(it.attribute("user.hydrant.identifier", of: "f/b.txt")?.dropFirst(2))
            try it.send("POST", "systemtags", body: #"{"name": "urgent"}"#)
            try it.send("PUT", "systemtags-relations/files/\(number)/1")
            try waitUntil(60, "the tag shows") { try it.attribute("user.hydrant.tags", of: "f/b.txt") == "urgent" }
            let refused = try it.mount.shell(
                "python3 -c 'import os; os.setxattr(\"f/b.txt\", \"user.hydrant.tags\", b\"x\")'")
            #expect(refused.stderr.contains("Operation not permitted"), "\(refused)")
            // A save by rename keeps the mark, and so does an ordinary one.
            #expect(try it.set("1", of: "f/b.txt").succeeded)
            #expect(try it.hydrant("sync", it.mount.mountPoint, "--timeout", "60").succeeded)
            try it.mount.run("echo three > f/b.tmp; mv f/b.tmp f/b.txt; echo four >> f/b.txt")
            #expect(try it.hydrant("sync", it.mount.mountPoint, "--timeout", "60").succeeded)
            #expect(try it.attribute("user.hydrant.favorite", of: "f/b.txt") == "1")
            // A new document gets the mark after its upload.
            try it.mount.run("echo new > f/c.txt; mkdir g")
            #expect(try it.set("1", of: "f/c.txt").succeeded && it.set("1", of: "g").succeeded)
            #expect(try it.hydrant("sync", it.mount.mountPoint, "--timeout", "60").succeeded)
            #expect(try it.attribute("user.hydrant.favorite", of: "f/c.txt") == "1")
            #expect(try it.attribute("user.hydrant.favorite", of: "g") == "1")
            #expect(try it.hydrant("status", it.mount.mountPoint).stdout.contains("everything is in the store"))
        }
    }

    @Test("what others share only to read is refused at open, not at the upload") func readOnly() async throws {
        let mounts = #"{"Shared": {"type": "shared", "permissions": 1}, "s.txt": {"type": "shared", "permissions": 1}}"#
        try await Self.withAccount(
            mounts: mounts,
            seed: {
                try $0.file("Shared/a.txt", "text")
                try $0.file("s.txt", "text")
            }
        ) { it in
            #expect(
                try it.mount.run("cat Shared/a.txt s.txt; stat -c %a Shared Shared/a.txt s.txt")
                    == "texttext555\n444\n444\n")
            for script in [
                "echo x >> Shared/a.txt", "echo x > s.txt", "echo x > Shared/new", "mv Shared/a.txt Shared/b",
                "rm Shared/a.txt",
            ] {
                let refused = try it.mount.shell(script)
                #expect(!refused.succeeded && refused.stderr.contains("Permission denied"), "\(script): \(refused)")
            }
            #expect(try it.set("1", of: "Shared/a.txt").succeeded, "the mark is the user's own")
            #expect(try it.hydrant("sync", it.mount.mountPoint, "--timeout", "60").succeeded)
            #expect(try it.attribute("user.hydrant.favorite", of: "Shared/a.txt") == "1")
            #expect(try Seeding(it.server.root).text("Shared/a.txt") == "text")
        }
    }

    @Test("a store without links, trash and favourites says so") func without() async throws {
        try await withSandbox(Self.options) { mount in
            try Seeding(mount.store).file("a", "text")
            try mount.mount()
            let link = try mount.hydrant(["share", mount.mountPoint + "/a"])
            #expect(!link.succeeded && link.stderr.contains("the store cannot give out links"), "\(link)")
            let trash = try mount.hydrant(["trash", mount.mountPoint])
            #expect(!trash.succeeded && trash.stderr.contains("the store cannot show a trash"), "\(trash)")
            let marked = try mount.shell(
                "python3 -c 'import os; os.setxattr(\"a\", \"user.hydrant.favorite\", b\"1\")'")
            #expect(marked.stderr.contains("Operation not supported"), "\(marked)")
            let read = try mount.shell("python3 -c 'import os; os.getxattr(\"a\", \"user.hydrant.favorite\")'")
            #expect(read.stderr.contains("No data available"), "\(read)")
        }
    }
}

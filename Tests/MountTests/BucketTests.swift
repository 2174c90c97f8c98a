import FileProvider
import FileProviderTesting
import Foundation
import MountHarness
import S3Harness
import S3Provider
import Testing
import WebDAVHarness

/// Buckets by name, with the commands that users have, on a real server.
@Suite("hydrant domain, login, mount: S3")
struct BucketTests {
    private static let options = MountOptions.with {
        $0.store = .directory
        $0.limit = 120
    }
    private static let key = "\(S3TestServer.accessKey):\(S3TestServer.secretKey)"

    private struct Bucket: Sendable {
        let mount: MountedStore
        let server: S3TestBucket

        func hydrant(_ arguments: String..., input: String = "", environment: [String: String] = [:]) throws
            -> ChildResult
        {
            let words = arguments.map { "'\($0)'" }.joined(separator: " ")
            return try mount.sandbox.run(
                ["sh", "-c", "printf '%s\\n' '\(input)' | \"$HYDRANT\" \(words)"],
                environment: mount.environment.merging(environment) { $1 }, limit: 40)
        }

        func start(_ store: String, environment: [String: String] = [:]) throws {
            let mounted = try hydrant(
                "mount", store, mount.mountPoint, "--log-level", "debug", "--json", environment: environment)
            let pid = mounted.stdout.firstMatch(of: /"pid" *: *([0-9]+)/).flatMap { Int32($0.1) }
            guard mounted.succeeded, let pid else { throw HarnessError("mount: \(mounted)") }
            mount.sandbox.note(daemon: pid)
        }

        /// Mounts, writes a document, and finds it in the bucket.
        func work(_ store: String, _ name: String, environment: [String: String] = [:]) throws {
            try start(store, environment: environment)
            try mount.run("mkdir letters && echo \(name) > letters/june.txt && cat letters/june.txt")
            let synced = try hydrant("sync", mount.mountPoint, "--timeout", "60")
            guard synced.succeeded else { throw HarnessError("sync: \(synced)\n\(mount.logTail)") }
        }

        /// Checks the document as another client has it.
        func expect(_ path: String, _ text: String) throws {
            let other = try server.provider()
            let stored = try BucketFileSystem(other).text(FSPath(path))
            #expect(stored == text)
            try blocking { await other.invalidate() }
        }
    }

    private static func withBucket(
        isPublic: Bool = false, _ body: @escaping @Sendable (Bucket) throws -> Void
    ) async throws {
        let run = { @Sendable (server: S3TestBucket) async throws in
            try await withSandbox(options) { mount in try body(Bucket(mount: mount, server: server)) }
        }
        if isPublic { try await withOwnS3(.seaweedfs, isPublic: true, run) } else { try await withS3(.usual, run) }
    }

    @Test("add a bucket, sign in, mount, unmount, sign out")
    func everything() async throws {
        try await Self.withBucket { it in
            let added = try it.hydrant(
                "domain", "add", "work", "\(it.server.url)/home", "--endpoint", it.server.endpoint)
            #expect(added.succeeded && added.stdout.contains("next: hydrant login work"), "\(added)")
            let wrong = try it.hydrant("login", "work", "--password-stdin", input: "TESTKEY:wrong")
            #expect(!wrong.succeeded && wrong.stderr.contains("does not accept the access key"), "\(wrong)")
            let half = try it.hydrant("login", "work", "--password-stdin", input: "TESTKEY")
            #expect(!half.succeeded && half.stderr.contains("ACCESSKEY:SECRETKEY"), "\(half)")
            let login = try it.hydrant("login", "work", "--password-stdin", input: Self.key)
            #expect(login.succeeded && login.stdout.contains("refuses to overwrite"), "\(login)")
            if S3ServerKind.usual == .seaweedfs {
                #expect(login.stdout.contains("names with a backslash stay"), "\(login)")
            }
            try it.work("work", "by login")
            try it.expect("home/letters/june.txt", "by login\n")
            let status = try it.hydrant("status", it.mount.mountPoint)
            #expect(status.stdout.contains("\(it.server.url)/home?endpoint=\(it.server.endpoint)"), "\(status)")
            #expect(!status.stdout.contains(S3TestServer.secretKey) && !it.mount.logTail.contains("TESTSECRET"))
            let out = try it.hydrant("logout", "work")
            #expect(out.succeeded, "\(out)")
            #expect(try !it.hydrant("domain", "list").stdout.contains("file "), "the secret key is forgotten")
        }
    }

    @Test("a profile of ~/.aws, and the environment, are a sign-in")
    func surroundings() async throws {
        try await Self.withBucket { it in
            try Seeding(it.mount.sandbox.path).file(
                "home/.aws/credentials",
                """
                [archive]
                aws_access_key_id = \(S3TestServer.accessKey)
                aws_secret_access_key = \(S3TestServer.secretKey)

                """)
            let added = try it.hydrant(
                "domain", "add", "work", "\(it.server.url)/profile", "--endpoint", it.server.endpoint, "--profile",
                "archive")
            #expect(added.succeeded && added.stdout.contains("refuses to overwrite"), "\(added)")
            #expect(added.stdout.contains("next: hydrant mount work"), "\(added)")
            try it.work("work", "by profile")
            try it.expect("profile/letters/june.txt", "by profile\n")
            try it.mount.unmount()
            // Without a domain: the server in the URL, the keys in the environment.
            let keys = [
                "AWS_ACCESS_KEY_ID": S3TestServer.accessKey, "AWS_SECRET_ACCESS_KEY": S3TestServer.secretKey,
            ]
            try it.work("\(it.server.url)/env?endpoint=\(it.server.endpoint)", "by environment", environment: keys)
            try it.expect("env/letters/june.txt", "by environment\n")
        }
    }

    @Test("a public bucket is mounted read-only, without a sign-in")
    func everybody() async throws {
        try await Self.withBucket(isPublic: true) { it in
            let owner = try it.server.provider()
            try BucketFileSystem(owner).put("notice.txt", "for everybody")
            try blocking { await owner.invalidate() }
            let added = try it.hydrant("domain", "add", "open", it.server.url, "--endpoint", it.server.endpoint)
            #expect(added.succeeded && added.stdout.contains("everybody may read"), "\(added)")
            try it.start("open")
            #expect(try it.mount.run("cat notice.txt") == "for everybody")
            let refused = try it.mount.shell("echo more >> notice.txt")
            #expect(refused.stderr.contains("Read-only file system"), "\(refused)")
        }
    }

    @Test("hydrant versions: list, copy out, restore")
    func versions() async throws {
        try await Self.withBucket { it in
            try it.server.keepVersions()
            let keys = [
                "AWS_ACCESS_KEY_ID": S3TestServer.accessKey, "AWS_SECRET_ACCESS_KEY": S3TestServer.secretKey,
            ]
            try it.start("\(it.server.url)/home?endpoint=\(it.server.endpoint)", environment: keys)
            let path = "\(it.mount.mountPoint)/report.txt"
            for text in ["first", "second version"] {
                try it.mount.run("printf '\(text)' > report.txt && setfattr -n user.note -v kept report.txt")
                let synced = try it.hydrant("sync", it.mount.mountPoint, "--timeout", "60")
                #expect(synced.succeeded, "\(synced)")
            }
            func listed() throws -> [String] {
                let answer = try it.hydrant("versions", path, "--json")
                #expect(answer.succeeded, "\(answer)")
                return answer.stdout.matches(of: /"identifier" : "([^"]+)"/).map { String($0.1) }
            }
            let first = try #require(try listed().first)
            #expect(try listed().count == 1)
            let shown = try it.hydrant("versions", path)
            #expect(shown.stdout.contains(first) && shown.stdout.contains("5 byte"), "\(shown)")
            let copied = try it.hydrant(
                "versions", path, "--copy", first, "--to", "\(it.mount.sandbox.path)/old.txt")
            #expect(copied.succeeded, "\(copied)")
            #expect(try it.mount.run("cat '\(it.mount.sandbox.path)/old.txt' report.txt") == "firstsecond version")
            let again = try it.hydrant("versions", path, "--copy", first, "--to", "\(it.mount.sandbox.path)/old.txt")
            #expect(!again.succeeded && again.stderr.contains("exists already"), "\(again)")
            let unknown = try it.hydrant("versions", path, "--restore", "nobody")
            #expect(!unknown.succeeded && unknown.stderr.contains("keeps no version “nobody”"), "\(unknown)")

            try it.mount.run("chmod 640 report.txt")
            let synced = try it.hydrant("sync", it.mount.mountPoint, "--timeout", "60")
            #expect(synced.succeeded, "\(synced)")
            let restored = try it.hydrant("versions", path, "--restore", first)
            #expect(restored.succeeded && restored.stdout.contains("restored version"), "\(restored)")
            #expect(
                try it.mount.run(
                    "cat report.txt; stat -c ' %a' report.txt; getfattr -n user.note --only-values report.txt")
                    == "first 640\nkept")
            #expect(try it.mount.run("ls -A") == "report.txt\n")
            let sent = try it.hydrant("sync", it.mount.mountPoint, "--timeout", "60")
            #expect(sent.succeeded, "\(sent)")
            try it.expect("home/report.txt", "first")
            // What the restored version has replaced is a version too.
            #expect(try listed().count == 2)
            #expect(try it.hydrant("pause", it.mount.mountPoint).succeeded)
            try it.mount.run("printf 'not sent' > report.txt")
            let unsent = try it.hydrant("versions", path, "--restore", first)
            #expect(!unsent.succeeded && unsent.stderr.contains("not in the store yet"), "\(unsent)")
            #expect(try it.mount.run("cat report.txt") == "not sent")
        }
    }

    @Test("a document that is saved during a restore keeps what was saved")
    func savedDuringARestore() async throws {
        try await Self.withBucket { it in
            try it.server.keepVersions()
            let proxy = try FaultProxy(port: it.server.port)
            defer { proxy.end() }
            try it.start(
                "\(it.server.url)?endpoint=http://127.0.0.1:\(proxy.port)",
                environment: [
                    "AWS_ACCESS_KEY_ID": S3TestServer.accessKey, "AWS_SECRET_ACCESS_KEY": S3TestServer.secretKey,
                ])
            for text in ["first", "second"] {
                try it.mount.run("printf '\(text)' > report.txt")
                let synced = try it.hydrant("sync", it.mount.mountPoint, "--timeout", "60")
                #expect(synced.succeeded, "\(synced)")
            }
            let path = "\(it.mount.mountPoint)/report.txt"
            let listed = try it.hydrant("versions", path, "--json")
            let first = try #require(listed.stdout.firstMatch(of: /"identifier" : "([^"]+)"/)).1
            // (The first connection gets no answer, and ends when the document is saved; a second one gets the bytes.)
            let isSaved = DispatchSemaphore(value: 0)
            proxy.inject(
                .endsLater("", isSaved), into: "GET", path: "versionId=")
            let restoring = try it.mount.start(
                "\"$HYDRANT\" versions report.txt --restore '\(first)' 2> '\(it.mount.sandbox.path)/said' || echo $?")
            try waitUntil(60, "the version is asked for") {
                proxy.requests.contains { $0.hasPrefix("GET") && $0.contains("versionId=") }
            }
            try it.mount.run("printf 'saved meanwhile' > report.txt")
            isSaved.signal()
            #expect(restoring.wait(limit: 60).stdout == "1\n")
            let said = try it.mount.run("cat '\(it.mount.sandbox.path)/said'")
            #expect(said.contains("was changed meanwhile; nothing was restored"), "\(said)")
            #expect(try it.mount.run("cat report.txt; ls -A") == "saved meanwhilereport.txt\n")
        }
    }

    /// The bucket with the same name on another server is another store.
    @Test("a domain's catalog is for one server, whichever the environment names later")
    func otherServer() async throws {
        try await Self.withBucket { it in
            let proxy = try FaultProxy(port: it.server.port)
            defer { proxy.end() }
            try Seeding(it.mount.sandbox.path).file("password", S3TestServer.secretKey + "\n")
            try it.mount.setDomain(
                """
                url = "\(it.server.url)"
                user = "\(S3TestServer.accessKey)"
                password-command = ["cat", "\(it.mount.sandbox.path)/password"]
                """)
            try it.work("test", "first", environment: ["AWS_ENDPOINT_URL": it.server.endpoint])
            try it.mount.unmount()
            let other = try it.hydrant(
                "mount", "test", it.mount.mountPoint,
                environment: ["AWS_ENDPOINT_URL": "http://127.0.0.1:\(proxy.port)"])
            #expect(!other.succeeded && other.stderr.contains("belongs to"), "\(other)")
            #expect(proxy.requests == [])
        }
    }

    @Test("a domain names any store")
    func anyStore() async throws {
        try await withSandbox(Self.options) { mount in
            try Seeding(mount.store).file("there.txt", "there")
            let added = try mount.hydrant(["domain", "add", "disk", "dir:\(mount.store)"])
            #expect(added.succeeded && added.stdout.contains("next: hydrant mount disk"), "\(added)")
            let refused = try mount.hydrant(["login", "disk"])
            #expect(!refused.succeeded && refused.stderr.contains("keeps no password"), "\(refused)")
            let mounted = try mount.hydrant(["mount", "disk", mount.mountPoint])
            #expect(mounted.succeeded, "\(mounted)")
            #expect(try mount.run("cat there.txt") == "there")
            try mount.run("mkdir folder")
            for (name, reason) in [("there.txt", "cannot keep versions"), ("folder", "is not a document")] {
                let versions = try mount.hydrant(["versions", "\(mount.mountPoint)/\(name)"])
                #expect(!versions.succeeded && versions.stderr.contains(reason), "\(versions)")
            }
            try mount.unmount()
            for (words, reason) in [
                (["domain", "add", "x", "nosuch:thing"], "hydrant-provider-nosuch"),
                (["domain", "add", "x", "dir:/tmp", "--endpoint", "http://h"], "are for buckets"),
                (["domain", "add", "x", "s3://a"], "is not the name of a bucket"),
                (["domain", "add", "x", "s3://me:pw@documents"], "a password must not be in a URL"),
                (["domain", "add", "x", "dir:/tmp", "--user", "me"], "are for WebDAV folders and buckets"),
            ] {
                let result = try mount.hydrant(words)
                #expect(!result.succeeded && result.stderr.contains(reason), "\(words): \(result)")
            }
        }
    }
}

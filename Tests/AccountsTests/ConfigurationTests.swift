import Foundation
import HTTPTransport
import Testing

@testable import Accounts

/// `config.toml`: what is read, what is refused, and what stays when the command changes it.
@Suite struct ConfigurationTests {
    @Test func everyKeyIsRead() throws {
        let configuration = try Configuration(
            """
            # Mine.
            [domains.work]
            url = "davs://ignored@cloud.example.org/remote.php/dav/files/ada"   # a comment
            user = "ada"
            auth = "bearer"
            password-command = ["pass", "show", "cloud"]
            certificate-authority = "/etc/ca.pem"
            mountpoint = "/home/ada/Work"
            read-only = true
            cache-limit = "10G"
            min-free = "5%"
            limit-download = "2M"
            limit-upload = "1M"
            hold-deletions = "20"
            exclude = ["*.iso"]

            [domains.home]
            url = "http://nas:8080/"
            """, file: "f")
        let work = try #require(configuration.domains["work"])
        #expect(work.url == "https://cloud.example.org/remote.php/dav/files/ada/")
        #expect(work.user == "ada" && work.usesToken && work.passwordCommand == ["pass", "show", "cloud"])
        #expect(work.certificateAuthority == "/etc/ca.pem" && work.mountpoint == "/home/ada/Work" && work.isReadOnly)
        #expect(
            work.options == [
                .cacheLimit: "10G", .minFree: "5%", .limitDownload: "2M", .limitUpload: "1M", .holdDeletions: "20",
            ])
        #expect(work.exclude == ["*.iso"])
        #expect(configuration.domains["home"]?.url == "http://nas:8080/")
    }

    @Test func aBucketComesBack() throws {
        try withFile { file, _ in
            var bucket = AccountSettings()
            bucket.url = "s3://documents/letters"
            bucket.isAnonymous = true
            bucket.s3.endpoint = "https://s3.example.org:8333"
            bucket.s3.region = "eu-central-1"
            bucket.s3.isPathStyle = false
            bucket.s3.profile = "work"
            bucket.s3.isRequesterPays = true
            try file.add("a", bucket)
            #expect(try file.domain("a") == bucket)
        }
    }

    @Test(arguments: [
        (
            "[domains.a]\nurl = \"https://h/\"\ncache_limit = \"1G\"",
            "f:3: “cache_limit”: unknown key; is cache-limit meant?"
        ),
        ("[domains.a]\nurl = \"https://h/\"\nread-only = \"yes\"", "f:3: “read-only” takes true or false"),
        ("[domains.a]\nurl = \"https://h/\"\nexclude = \"*.o\"", "f:3: “exclude” takes a list"),
        ("[domains.a]\nurl = \"h/x\"", "f:2: “h/x”: is not the location of a store"),
        ("[domains.a]\nurl = \"s3://me:secret@b/\"", "f:2: a password must not be in a URL"),
        ("[domains.\"a b\"]\nurl = \"https://h/\"", "is not a name for a domain"),
        ("[domains]\na.url = \"https://h/\"\na.auth = \"digest\"", "f:3: auth must be"),
        ("x = 1", "f:1: “x”: unknown section"),
        ("[domains.a", "f:1: "),
    ])
    func aMistakeIsSaidWithItsLine(_ text: String, _ message: String) throws {
        let error = try #require(throws: AccountError.self) { try Configuration(text, file: "f") }
        #expect(error.description.contains(message), "\(error)")
    }

    private func withFile(_ body: (ConfigurationFile, String) throws -> Void) throws {
        let folder = NSTemporaryDirectory() + "hydrant-config-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = try ConfigurationFile(environment: ["XDG_CONFIG_HOME": folder])
        try body(file, folder + "/hydrant/config.toml")
    }

    @Test func whatPeopleWroteStays() throws {
        try withFile { file, path in
            #expect(try file.load() == Configuration())
            var first = AccountSettings()
            (first.url, first.user) = ("https://a/", "with \"quotes\" and \\")
            try file.add("a", first)
            try (String(contentsOfFile: path, encoding: .utf8) + "# mine\ncache-limit = \"1G\"\n\n# of b\n")
                .write(toFile: path, atomically: true, encoding: .utf8)
            var second = AccountSettings()
            (second.url, second.usesToken, second.certificateAuthority) = ("https://b/", true, "/ca")
            try file.add("b", second)
            #expect(try file.domain("a").user == "with \"quotes\" and \\")
            #expect(try file.domain("a").options == [.cacheLimit: "1G"])
            #expect(try file.domain("b").usesToken)
            #expect(throws: AccountError.self) { try file.add("a", second) }
            try file.remove("a")
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.contains("# of b") && !text.contains("https://a/") && text.contains("https://b/"))
            let error = #expect(throws: AccountError.self) { try file.domain("bb") }
            #expect(error?.description.contains("is b meant?") == true)
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test func aUserIsAddedToADomain() throws {
        try withFile { file, path in
            var settings = AccountSettings()
            settings.url = "https://a/"
            try file.add("a", settings)
            settings.url = "https://b/"
            try file.add("b", settings)
            let text = try String(contentsOfFile: path, encoding: .utf8)
            try ("# mine\n" + text.replacing("[domains.b]", with: "# of b\n[domains.b]")).write(
                toFile: path, atomically: true, encoding: .utf8)
            try file.complete("a", url: "https://a/files/ada/", user: "ada \"L\"")
            #expect(
                try String(contentsOfFile: path, encoding: .utf8)
                    == ("# mine\n"
                        + text.replacing("https://a/\"", with: "https://a/files/ada/\"\nuser = \"ada \\\"L\\\"\"")
                        .replacing("[domains.b]", with: "# of b\n[domains.b]")))
            #expect(try file.domain("a").user == "ada \"L\"")
            #expect(try file.domain("b").user == nil && file.domain("b").url == "https://b/")
            // It has a user now; and what has no line of its own is not changed.
            #expect(throws: AccountError.self) { try file.complete("a", url: "https://c/", user: "bob") }
            let inline = "domains.c = { url = \"https://c/\" }\n"
            try inline.write(toFile: path, atomically: true, encoding: .utf8)
            #expect(throws: AccountError.self) { try file.complete("c", url: "https://d/", user: "bob") }
            #expect(try String(contentsOfFile: path, encoding: .utf8) == inline)
        }
    }

    @Test func aFileWithAMistakeIsNotChanged() throws {
        try withFile { file, path in
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try "[domains.a]\nurl = 1\n".write(toFile: path, atomically: true, encoding: .utf8)
            var settings = AccountSettings()
            settings.url = "https://b/"
            #expect(throws: AccountError.self) { try file.add("b", settings) }
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "[domains.a]\nurl = 1\n")
        }
    }

    @Test func aFileThatOthersCanReadIsNoPlaceForAPassword() throws {
        let folder = NSTemporaryDirectory() + "hydrant-data-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try FileStore(environment: ["XDG_DATA_HOME": folder])
        #expect(try store.secret(of: "a") == nil)
        try store.keep(.init("one\ntwo"), of: "a")
        #expect(try store.secret(of: "a")?.revealed == "one\ntwo")
        chmod(store.place + "/a", 0o644)
        #expect(throws: AccountError.self) { try store.secret(of: "a") }
        try store.forget("a")
        try store.forget("a")
        #expect(try store.secret(of: "a") == nil)
    }

    /// The page of the documentation has the table that the program has.
    @Test func everyKeyIsDocumented() throws {
        let root = URL(filePath: #filePath, directoryHint: .notDirectory).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().path
        let page = try String(
            contentsOfFile: root + "/Sources/hydrant/Documentation.docc/WebDAV.md", encoding: .utf8)
        for key in ConfigurationKey.allCases {
            #expect(page.contains("| `\(key.rawValue)` | \(key.kind.name) | \(key.meaning) |"), "\(key)")
        }
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }
        #expect(rows.count == ConfigurationKey.allCases.count)
    }
}

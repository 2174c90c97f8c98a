import Foundation
import Testing

@testable import Daemon

@Suite("Store locations of each scheme")
struct StoreLocationTests {
    private func location(_ text: String, _ kind: StoreLocation.Kind = .path, in directory: String = "/") throws
        -> StoreLocation
    {
        try StoreLocation(text, kind: kind, workingDirectory: directory)
    }

    @Test("a path becomes absolute and plain, with links resolved; so does the text that identifies it")
    func paths() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/hydrant-location-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder + "/real", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: "real")
        let resolved = try #require(realpath(folder, nil).map { String(cString: $0) })

        #expect(try location("zip:real", in: folder).path == resolved + "/real")
        #expect(try location("zip:link", in: folder).path == resolved + "/real")
        #expect(try location("zip:./real/../link/a.zip", in: folder).path == resolved + "/real/a.zip")
        #expect(try location("zip:\(folder)//link/a.zip").path == resolved + "/real/a.zip")
        #expect(try location("zip:none/deep/a.zip", in: folder).path == folder + "/none/deep/a.zip")
        #expect(try location("ZIP:link/a.zip", in: folder).canonical == "zip:\(resolved)/real/a.zip")
        #expect(try location("zip:/").path == "/")
    }

    /// A catalog of before is found under this name.
    @Test("the name of a domain is the same as in earlier releases")
    func domainName() throws {
        #expect(try location("dir:/srv/none/My Documents").domainName == "dir-My_Documents-bd0ee24898ec4897")
        #expect(try location("dir:/").domainName.hasPrefix("dir-root-"))
        let (a, b) = (try location("x:a", .name), try location("x:b", .name))
        #expect(a.domainName != b.domainName)
    }

    @Test(
        "an address is compared without its password, and without the case of its host",
        arguments: [
            ("dav://ada:s3cret@Example.ORG/docs/", "dav://ada@example.org/docs"),
            ("dav://ada@example.org/docs", "dav://ada@example.org/docs"),
            ("dav://Ada:p%40ss:w@example.org:8080/A/b@c:d", "dav://Ada@example.org:8080/A/b@c:d"),
            ("dav://example.org/?page=2&api_token=abcdef", "dav://example.org/?page=2"),
            ("dav://example.org/a?X-Amz-Signature=abcdef#part", "dav://example.org/a#part"),
            ("DAV://example.org", "dav://example.org"),
        ])
    func addresses(text: String, known: String) throws {
        let location = try location(text, .url)
        #expect(location.canonical == known)
        #expect(StoreLocation.shown(text).lowercased().hasPrefix(known.lowercased()))
        for secret in ["s3cret", "p%40ss", "abcdef"] { #expect(!StoreLocation.shown(text).contains(secret)) }
    }

    @Test(
        "the options of a connection string that are secrets are not shown",
        arguments: [
            ("rclone::sftp,host=h,user=u,pass=geheim:Letters", "rclone::sftp,host=h,user=u:Letters"),
            (#"rclone:s3,secret_access_key="ge,h""eim:1",region=x:b"#, "rclone:s3,region=x:b"),
            ("rclone::s3,access_key_id=a,session_token=geheim:b/c@d", "rclone::s3,access_key_id=a:b/c@d"),
            ("rclone::sftp,pass=geheim,user=a@b:x", "rclone::sftp,user=a@b:x"),
            ("rclone:drive,shared_with_me=true:A,pass=b", "rclone:drive,shared_with_me=true:A,pass=b"),
            ("rclone:drive:a,key=b", "rclone:drive:a,key=b"),
            ("rclone::sftp,key_file=/k:", "rclone::sftp,key_file=/k:"),
        ])
    func options(text: String, known: String) throws {
        let location = try location(text, .name)
        #expect(location.canonical == known && StoreLocation.shown(text) == known)
        if text.contains("geheim") { #expect(!location.secrets.scrubbed("error: geheim").contains("geheim")) }
    }

    @Test("a location that is a name is taken as it is, without a password")
    func names() throws {
        #expect(try location("s3:bucket", .name, in: "/tmp").canonical == "s3:bucket")
        #expect(try location("demo:", .name).canonical == "demo:")
        #expect(try location("sftp:ada:s3cret@host:/a:b@c", .name).canonical == "sftp:ada@host:/a:b@c")
    }

    @Test("an invalid store location is reported", arguments: ["/srv/a:b", "documents", "1x:/a", ":x", "a b:c", "é:x"])
    func noStore(text: String) {
        #expect { try StoreLocation.split(text) } throws: { "\($0)".contains("not a store") && "\($0)".contains(text) }
    }

    @Test("a missing path and an address without a host are reported")
    func missing() {
        #expect { try location("zip:") } throws: { "\($0)".contains("zip:/PATH") }
        #expect { try location("dav:docs", .url) } throws: { "\($0)".contains("dav://HOST/PATH") }
        #expect { try location("dav:///docs", .url) } throws: { "\($0)".contains("dav://HOST/PATH") }
    }

    @Test("secrets are removed from any text, also percent-decoded, and nothing else is removed")
    func scrubbing() throws {
        let secrets = try location("dav://ada:p%40ssword@host/x?token=tok3n", .url).secrets
        #expect(
            secrets.scrubbed("GET //ada:p%40ssword@host/x?token=tok3n: p@ssword is wrong")
                == "GET //ada:…@host/x?token=…: … is wrong")
        // Of a short one no word is mangled.
        let short = try location("dav://ada:a@host/x", .url).secrets
        #expect(short.scrubbed("at dav://ada:a@host/x: a failure") == "at dav://ada@host/x: a failure")
        #expect(try location("zip:/a:b@c/d").secrets.values == [])
    }
}

import FileProvider
import FileProviderTesting
import Foundation
import Testing

@testable import RcloneProvider

@Suite("Rclone: texts") struct RcloneNameTests {
    @Test func datesAreThoseOfRFC3339() {
        #expect(RcloneDate.parse("1970-01-01T00:00:00Z") == FileTime(seconds: 0))
        #expect(
            RcloneDate.parse("2026-11-28T06:38:11.308939689Z")
                == FileTime(seconds: 1_795_847_891, nanoseconds: 308_939_689))
        #expect(
            RcloneDate.parse("2026-11-28T07:38:11.3+01:00")
                == FileTime(seconds: 1_795_847_891, nanoseconds: 300_000_000))
        #expect(RcloneDate.parse("1969-12-31T23:59:59.5Z") == FileTime(seconds: -1, nanoseconds: 500_000_000))
        #expect(RcloneDate.parse("2024-02-29T12:00:00-05:30") == FileTime(seconds: 1_709_227_800))
        for text in ["", "yesterday", "2026-13-01T00:00:00Z", "2026-11-28T06:38:11", "2026-11-28T06:38:11+1"] {
            #expect(RcloneDate.parse(text) == nil, "\(text)")
        }
    }

    @Test func aLocationNamesARemote() throws {
        #expect(try RcloneAddress("drive:Letters").configured == "drive")
        #expect(try RcloneAddress("drive,shared_with_me=true:").configured == "drive")
        #expect(try RcloneAddress(#":sftp,host="example.org:22":/home"#).configured == nil)
        #expect(
            try RcloneAddress(#":s3,endpoint="http://127.0.0.1:9":b/c"#).adding("directory_markers=true")
                == #":s3,endpoint="http://127.0.0.1:9",directory_markers=true:b/c"#)
        #expect(try RcloneAddress("s3:b").adding("x=y") == "s3,x=y:b")
        for text in ["", "drive", "/home/ada", ":", "a/b:c", "drive:a]b"] {
            #expect(throws: FileProviderError.self, "\(text)") { try RcloneAddress(text) }
        }
    }

    @Test(arguments: [
        ":sftp,host=h,user=u,pass=geheim:Letters", ":s3,access_key_id=a,secret_access_key=geheim:b",
        "drive,token='{\"access_token\":\"geheim\"}':", ":webdav,url=\"https://ada:geheim@h/\":", "sftp,pass=geheim",
        ":b2,key=geheim:x", ":http,headers=\"Cookie,a=geheim\":",
    ])
    func aSecretInALocationIsRefused(_ text: String) {
        let error = #expect(throws: FileProviderError.self) { try RcloneAddress(text) }
        #expect(error?.message.contains("rclone config") ?? false, "\(String(describing: error))")
        #expect(!(error?.message.contains("geheim") ?? true))
    }

    @Test(arguments: [
        ":sftp,host=h,key_file=/home/ada/id,key_use_agent=true:x", ":s3,access_key_id=a,env_auth=true:b",
        "drive,shared_with_me=true:", #":webdav,url="https://h/a@b":"#, "drive:a,pass=b",
    ])
    func otherOptionsAreNotRefused(_ text: String) throws { #expect(try RcloneAddress(text).fs == text) }

    @Test(arguments: [
        ("error in ListJSON: directory not found", FileProviderError.Code.noSuchItem),
        ("mkdir /x: permission denied", .permissionDenied), ("write /x: no space left on device", .insufficientQuota),
        ("AccessDenied: Access Denied status code: 403", .permissionDenied),
        ("couldn't fetch token: invalid_grant: maybe token expired?", .notAuthenticated),
        ("dial tcp 127.0.0.1:9: connect: connection refused", .serverUnreachable),
        ("dial tcp: lookup x.invalid: no such host", .serverUnreachable),
        ("googleapi: Error 429 : Too many requests", .serverUnreachable),
        ("open /x: file name too long", .invalidName), ("something else", .cannotSynchronize),
        ("unable to decrypt configuration and not allowed to ask for password", .notAuthenticated),
    ])
    func aRefusalHasAMeaning(_ text: String, _ code: FileProviderError.Code) {
        #expect(RcloneRefusal(error: text).failure("drive:x").code == code)
    }

    @Test(arguments: [
        (
            "open /home/ada/quota.ods: permission denied", "store:/home/ada/quota.ods",
            FileProviderError.Code.permissionDenied
        ),
        ("open /home/ada/Quota/x.ods: permission denied", "store:/home/ada/Quota/x.ods", .permissionDenied),
        ("remove Letters/timeout.txt: permission denied", "drive:Letters/timeout.txt", .permissionDenied),
        ("Form 401 b.pdf: permission denied", "drive:Form 401 b.pdf", .permissionDenied),
        (#"Put "https://h/no%20such%20host/quota.txt": EOF"#, "dav:quota.txt", .cannotSynchronize),
        ("open /root/object not found.txt: permission denied", "store:/root/object not found.txt", .permissionDenied),
        ("write quota.ods: no space left on device", "drive:quota.ods", .insufficientQuota),
        ("quota: disk quota exceeded", "drive:quota", .insufficientQuota),
        (#"oauth2: "invalid_grant" "expired""#, "drive:x", .notAuthenticated),
    ])
    func aNameIsNoReason(_ text: String, _ place: String, _ code: FileProviderError.Code) {
        #expect(RcloneRefusal(error: text).failure(place).code == code)
    }

    @Test(arguments: [
        ("error in ListJSON: directory not found", true), ("object not found", true),
        ("open /x/object not found: permission denied", false), ("read directory not found/a: i/o timeout", false),
    ])
    func absenceStandsAtTheEnd(_ text: String, _ isAbsent: Bool) {
        #expect(RcloneRefusal(error: text).isAbsent == isAbsent)
    }

    /// (A failed comparison deletes rclone's copy and leaves the source.)
    @Test func movesAreCompared() throws {
        let json = try JSONEncoder().encode(RcloneParameters.Flags.moving)
        #expect(String(decoding: json, as: UTF8.self) == #"{"IgnoreExisting":true}"#)
    }

    @Test func anAsideIsAbandonedByItself() {
        let orphans = Orphans()
        orphans.patience = .zero
        #expect(!orphans.isAbandoned(".hydrant-old-1-a", of: "a", hasName: false))
        // Another swap of the same document is a new one.
        #expect(!orphans.isAbandoned(".hydrant-old-2-a", of: "a", hasName: false))
        #expect(!orphans.isAbandoned(".hydrant-old-1-a", of: "a", hasName: true))
        orphans.begin("a")
        #expect(!orphans.isAbandoned(".hydrant-old-2-a", of: "a", hasName: false))
        orphans.end("a")
        #expect(!orphans.isAbandoned(".hydrant-old-2-a", of: "a", hasName: false))
        #expect(orphans.isAbandoned(".hydrant-old-2-a", of: "a", hasName: false))
    }

    @Test func anOldRcloneTakesNoPassword() {
        #expect(RcloneProgram.unlockingProblem([1, 71, 2], "v1.71.2", [:])?.contains("1.72") ?? false)
        #expect(RcloneProgram.unlockingProblem([1, 72, 0], nil, [:]) == nil)
        #expect(RcloneProgram.unlockingProblem([1, 65, 0], nil, ["RCLONE_PASSWORD_COMMAND": "pass"]) == nil)
    }

    @Test func reservedNamesTellWhatTheyAccompany() {
        let aside = ReservedName.aside(of: "June – draft.txt", "0a1b2c3d")
        #expect(ReservedName.contains(aside) && ReservedName.original(ofAside: aside) == "June – draft.txt")
        #expect(ReservedName.original(ofAside: ReservedName.draft(of: "x", "0a1b2c3d")) == nil)
        #expect(ReservedName.original(ofAside: ".hydrant-old-") == nil)
    }

    @Test func anOldRcloneIsRefused() {
        #expect(RcloneProgram.problem([1, 60, 1], "v1.60.1")?.contains("1.63") ?? false)
        #expect(RcloneProgram.problem([1, 63, 0], nil) == nil && RcloneProgram.problem([1, 75, 2], nil) == nil)
        #expect(RcloneProgram.problem([2, 0, 0], nil) == nil && RcloneProgram.problem(nil, nil) == nil)
    }

    @Test func variablesThatChangeWhatACopyDoesAreLeftOut() throws {
        let program = try RcloneProgram(environment: [
            "RCLONE": RcloneRemote.program, "RCLONE_DRY_RUN": "true", "RCLONE_IGNORE_EXISTING": "true",
            "RCLONE_RC_ADDR": "0.0.0.0:1", "RCLONE_CONFIG": "/x", "RCLONE_BWLIMIT": "1M", "RCLONE_S3_ENDPOINT": "y",
            "HOME": "/h",
        ])
        #expect(Set(program.environment.keys) == ["RCLONE_CONFIG", "RCLONE_BWLIMIT", "RCLONE_S3_ENDPOINT", "HOME"])
    }
}

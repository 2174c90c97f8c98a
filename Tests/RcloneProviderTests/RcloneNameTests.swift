import FileProvider
import FileProviderTesting
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

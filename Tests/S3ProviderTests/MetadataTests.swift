import FileProvider
import HTTPTransport
import Testing

@testable import S3Provider

@Suite struct MetadataTests {
    @Test(
        arguments: [
            ("1354040105.123456789", 1_354_040_105, 123_456_789), ("1354040105", 1_354_040_105, 0),
            ("1354040105.5", 1_354_040_105, 500_000_000), ("-1.5", -2, 500_000_000), ("0", 0, 0),
        ] as [(String, Int64, Int64)])
    func datesOfRclone(_ text: String, _ seconds: Int64, _ nanoseconds: Int64) {
        #expect(S3Metadata.date(text) == FileTime(seconds: seconds, nanoseconds: nanoseconds))
    }

    @Test(arguments: ["", "x", "1.x", "1e5", "99999999999999999999", "1.2.3", " 1"])
    func noDates(_ text: String) { #expect(S3Metadata.date(text) == nil) }

    @Test(arguments: [
        FileTime(seconds: 1, nanoseconds: 5), FileTime(seconds: -2, nanoseconds: 500_000_000), FileTime(seconds: 0),
        FileTime(seconds: 4_000_000_000, nanoseconds: 999_999_999),
    ])
    func aDateComesBack(_ time: FileTime) { #expect(S3Metadata.date(S3Metadata.text(time)) == time) }

    /// s3fs writes them in decimal digits; others in octal ones, with the type or without.
    @Test(
        arguments: [
            ("33188", 0o100644), ("41471", 0o120777), ("100644", 0o100644), ("0100755", 0o100755), ("755", 0o100755),
            ("0644", 0o100644),
        ] as [(String, UInt32)])
    func modes(_ text: String, _ mode: UInt32) { #expect(S3Metadata.mode(text) == mode) }

    @Test(arguments: ["", "rw", "9", "999999", "-1", "177777777"])
    func noModes(_ text: String) { #expect(S3Metadata.mode(text) == nil) }

    @Test func attributesComeBack() {
        let attributes: [String: [UInt8]] = ["user.a": [0, 255, 10], "user.xdg.tags": Array("rot, grün".utf8)]
        #expect(S3Metadata.entries(S3Metadata.text(attributes))?.attributes == attributes)
        // As s3fs writes them.
        let written = S3Metadata.entries("%7B%22user.test%22%3A%22aGVsbG8%3D%22%7D")
        #expect(written?.attributes == ["user.test": Array("hello".utf8)])
    }

    @Test(
        arguments: [
            ("", nil), ("{}", [:]), ("%7B%22system.x%22%3A%22aGVsbG8%3D%22%7D", ["system.x": "aGVsbG8="]),
            ("%7B%22user.x%22%3A%22?%22%7D", ["user.x": "?"]), ("%zz", nil),
        ] as [(String, [String: String]?)])
    func badAttributesAreNone(_ text: String, _ foreign: [String: String]?) {
        #expect(S3Metadata.entries(text)?.attributes ?? [:] == [:])
        #expect(S3Metadata.entries(text)?.foreign == foreign)
    }

    private static func head(_ fields: [String: String]) -> [String: String] {
        var metadata = S3Metadata(fields.map { (name: "X-Amz-Meta-" + $0.key, value: $0.value) })
        metadata.keep(metadata.attributes ?? [:])
        return Dictionary(
            metadata.headers.map { (String($0.name.dropFirst("x-amz-meta-".count)), $0.value) },
            uniquingKeysWith: { first, _ in first })
    }

    @Test("a change keeps what Hydrant cannot read")
    func whatIsForeign() {
        let unreadable = ["mtime": "yesterday", "mode": "rw", "xattr": "%zz", "owner": "ada"]
        #expect(Self.head(unreadable) == unreadable)
        // Entries of a document that it cannot have here, beside one that it has.
        let both = #"{"system.x":"aGVsbG8=","user.a":"AQ=="}"#
        let kept = Self.head(["xattr": PercentCoding.encode(both.utf8)])["xattr"]
        #expect(kept.flatMap { S3Metadata.entries($0) }?.attributes == ["user.a": [1]])
        #expect(kept.flatMap { S3Metadata.entries($0) }?.foreign == ["system.x": "aGVsbG8="])
    }

    /// A server refuses more than 2 KB: such a change would never be sent.
    @Test("where others have left no room, a document has no date of its own")
    func noRoom() {
        var metadata = S3Metadata(modified: FileTime(seconds: 1), permissions: 0o644, attributes: nil)
        metadata.others = ["note": String(repeating: "x", count: 2_030)]
        #expect(metadata.headers.map(\.name) == ["x-amz-meta-mtime", "x-amz-meta-note"])
        metadata.others = ["note": String(repeating: "x", count: 2_044)]
        #expect(metadata.headers.map(\.name) == ["x-amz-meta-note"])
    }

    /// A bucket takes 2 KB in all: attributes for which there is no room stay where they were set.
    @Test func whatHasNoRoomStaysElsewhere() {
        var metadata = S3Metadata(
            modified: FileTime(seconds: 1), permissions: 0o644,
            attributes: ["user.large": [UInt8](repeating: 1, count: 4_000), "user.small": [1]])
        #expect(metadata.attributes == nil)
        #expect(metadata.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count } < 200)
        #expect(metadata.headers.contains { $0.name == "x-amz-meta-mode" && $0.value == "33188" })
        #expect(metadata.headers.contains { $0.name == "x-amz-meta-mtime" && $0.value == "1" })
        metadata.keep(["user.small": [1]])
        #expect(metadata.attributes == ["user.small": [1]])
        #expect(!metadata.headers.contains { $0.value == "elsewhere" })
    }

    @Test func aChangeKeepsWhatItDoesNotName() {
        var metadata = S3Metadata(modified: FileTime(seconds: 1), permissions: 0o600, attributes: ["user.a": [1]])
        metadata.others = ["owner": "ada"]
        let changed = metadata.changed(to: ItemMetadata(contentModificationDate: FileTime(seconds: 2)))
        #expect(changed.modified == FileTime(seconds: 2) && changed.permissions == 0o600)
        #expect(changed.attributes == ["user.a": [1]] && changed.others == ["owner": "ada"])
        let empty = ItemMetadata(
            contentModificationDate: FileTime(seconds: 2), posixPermissions: 0o755, extendedAttributes: [:])
        let emptied = metadata.changed(to: empty)
        #expect(emptied.permissions == 0o755 && emptied.attributes?.isEmpty == true && emptied.mode == 0o100755)
    }

    /// The catalog's version has what a listing lacks.
    @Test func aVersionTellsDateAndMode() throws {
        let object = S3Object(key: "a", size: 3, entityTag: "t", modified: FileTime(seconds: 7, nanoseconds: 5))
        let metadata = S3Metadata(modified: FileTime(seconds: 1, nanoseconds: 9), permissions: 0o640, attributes: nil)
        let version = try #require(S3Version(S3Version.metadata(object, metadata)))
        #expect(version.stored == 7 && version.modified == metadata.modified && version.mode == 0o100640)
        #expect(!version.hasMore)
        var more = metadata
        more.keep(["user.a": [1]])
        #expect(try #require(S3Version(S3Version.metadata(object, more))).hasMore)
        #expect(S3Version.metadata(object, more) != S3Version.metadata(object, metadata))
        #expect(S3Version(MetadataVersion("folder")) == nil)
    }
}

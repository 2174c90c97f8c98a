import FileProvider
import HTTPTransport
import Testing
import XMLStream

@testable import S3Provider

@Suite struct ListingTests {
    private func read(_ body: String) throws -> S3Listing {
        let text =
            #"<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">"#
            + body + "</ListBucketResult>"
        return try S3ListingReader.read(Array(text.utf8))
    }

    private static let encoded = "<EncodingType>url</EncodingType>"

    private func contents(_ key: String, size: String = "3", date: String = "2009-10-12T17:50:30.250Z") -> String {
        "<Contents><Key>\(key)</Key><LastModified>\(date)</LastModified><ETag>&quot;tag&quot;</ETag>"
            + "<Size>\(size)</Size><StorageClass>STANDARD</StorageClass></Contents>"
    }

    @Test func aListing() throws {
        let listing = try read(
            "<Name>bucket</Name><Prefix>docs/</Prefix><IsTruncated>true</IsTruncated>"
                + contents("docs/a%20b+c%2Bd%0A") + contents("docs/%C3%A9")
                + "<CommonPrefixes><Prefix>docs/Letters/</Prefix></CommonPrefixes>"
                + "<NextContinuationToken>next/1==</NextContinuationToken>" + Self.encoded)
        #expect(listing.objects.map(\.key) == ["docs/a b c+d\n", "docs/é"])
        let first = try #require(listing.objects.first)
        #expect(first.size == 3 && first.entityTag == "tag" && first.storageClass == "STANDARD")
        #expect(first.modified == FileTime(seconds: 1_255_369_830, nanoseconds: 250_000_000))
        #expect(listing.prefixes == ["docs/Letters/"] && listing.next == "next/1==")
    }

    /// Ceph RGW encodes keys, and neither the prefix nor the mark of the next part.
    @Test func controlCharactersThatXMLDoesNotHave() throws {
        let listing = try read(
            Self.encoded + "<Prefix>a&#x2;/&amp;</Prefix><IsTruncated>true</IsTruncated>"
                + contents("a%02%2F\u{e001}%26")
                + "<NextContinuationToken>a&#x2;/b&#31;\u{e001}&#10;</NextContinuationToken>")
        #expect(listing.objects.map(\.key) == ["a\u{2}/\u{e001}&"])
        #expect(listing.next == "a\u{2}/b\u{1f}\u{e001}\n")
        let answer = try S3Answer(Array("<a><Key>x&#x1;y&#xE01;</Key></a>".utf8))
        #expect(answer["a/Key"] == "x\u{1}y\u{e01}")
    }

    @Test func theLastPart() throws {
        let text = "<IsTruncated>false</IsTruncated><NextContinuationToken>x</NextContinuationToken>"
        #expect(try read(text).next == nil)
    }

    @Test(arguments: [("a", "-1"), ("a", "x"), ("a%2", "1"), ("%FF", "1")])
    func whatCannotBeReadIsCounted(_ key: String, _ size: String) throws {
        let listing = try read(Self.encoded + contents(key, size: size) + contents("good"))
        #expect(listing.objects.map(\.key) == ["good"] && listing.unreadable == [key])
    }

    @Test func aServerThatDoesNotEncodeSendsKeysAsTheyAre() throws {
        #expect(try read(contents("a+b%20c")).objects.map(\.key) == ["a+b%20c"])
    }

    @Test func brokenListingsAreRefused() {
        #expect(throws: BadXML.self) { try read("<IsTruncated>true</IsTruncated>") }
        #expect(throws: BadXML.self) { try S3ListingReader.read(Array("<html>Sign in</html>".utf8)) }
        #expect(throws: BadXML.self) { try S3ListingReader.read(Array("<ListBucketResult>".utf8)) }
        #expect(throws: BadXML.self) { try S3ListingReader.read([]) }
    }
}

@Suite struct KeyTests {
    @Test func foldersEndWithASlash() {
        #expect(["a/b/c.txt", "a/b/", "a"].map { S3Key.folder(of: $0) } == ["a/b/", "a/", ""])
        #expect(["a/b/c.txt", "a/b/", "a"].map { S3Key.name(of: $0).string } == ["c.txt", "b", "a"])
        #expect(["a/b/c.txt", "a/b/", "a"].map { S3Key.plain($0) } == ["a/b/c.txt", "a/b", "a"])
        #expect(S3Key.isFolder(ItemIdentifier.rootContainer) && S3Key.isFolder(ItemIdentifier("a/")))
        #expect(!S3Key.isFolder(ItemIdentifier("a")))
    }

    @Test(arguments: ["/", "./", "..", "a\u{0}b", String(repeating: "x", count: 256)])
    func namesThatNoFileCanHave(_ rest: String) {
        #expect(throws: S3Key.Unusable.self) { try S3Key.check(rest) }
    }

    @Test func newNames() throws {
        let folder = ItemIdentifier("a/")
        #expect(try S3Key.path(in: folder, "b", isFolder: true, prefix: "docs/") == "a/b/")
        let bad: [Filename] = ["a/b", ".", Filename(bytes: [0xFF]), ".hydrant-try-1"]
        for name in bad {
            #expect(throws: FileProviderError.self) {
                try S3Key.path(in: folder, name, isFolder: false, prefix: "")
            }
        }
        let long = ItemIdentifier(String(repeating: String(repeating: "x", count: 200) + "/", count: 5))
        #expect(throws: FileProviderError.self) {
            try S3Key.path(in: long, "twenty-bytes-of-name", isFolder: false, prefix: "")
        }
    }

    @Test(arguments: [
        ("s3://bucket", "bucket", ""), ("s3://bucket/", "bucket", ""), ("S3://my.bucket/a//b/", "my.bucket", "a/b/"),
    ])
    func addresses(_ url: String, _ bucket: String, _ prefix: String) throws {
        let address = try S3Address(url)
        #expect(address.bucket == bucket && address.prefix == prefix)
    }

    @Test(arguments: ["s3:", "s3://", "s3:///x", "https://bucket/x", "s3://a/b", "s3://bücket/", "s3://bucket/../x"])
    func noAddresses(_ url: String) { #expect(throws: S3Address.Problem.self) { try S3Address(url) } }

    @Test(
        "a bucket in another region",
        arguments: [
            (nil, nil, "https://docs.s3.eu-west-1.amazonaws.com"),
            (nil, true, "https://s3.eu-west-1.amazonaws.com"),
            ("https://s3.amazonaws.com", nil, "https://docs.s3.eu-west-1.amazonaws.com"),
            ("https://s3.dualstack.us-east-1.amazonaws.com", nil, "https://docs.s3.dualstack.eu-west-1.amazonaws.com"),
            ("https://s3-fips.us-east-1.amazonaws.com:8443", true, "https://s3-fips.eu-west-1.amazonaws.com:8443"),
            (
                "https://bucket.vpce-1a2b.s3.us-east-1.vpce.amazonaws.com", true,
                "https://bucket.vpce-1a2b.s3.us-east-1.vpce.amazonaws.com"
            ),
            ("http://ceph.example.org:7480", nil, "http://ceph.example.org:7480"),
        ] as [(String?, Bool?, String)])
    func otherRegions(_ url: String?, _ isPathStyle: Bool?, _ there: String) throws {
        var endpoint = try S3Endpoint(url: url, region: nil, isPathStyle: isPathStyle, bucket: "docs")
        endpoint.move(to: "eu-west-1", bucket: "docs")
        #expect("\(endpoint.origin)" == there && endpoint.region == "eu-west-1")
    }

    @Test func endpoints() throws {
        let china = try S3Endpoint(url: nil, region: "cn-north-1", isPathStyle: nil, bucket: "docs")
        #expect("\(china.origin)" == "https://docs.s3.cn-north-1.amazonaws.com.cn")
        let amazon = try S3Endpoint(url: nil, region: "eu-central-1", isPathStyle: nil, bucket: "docs")
        #expect("\(amazon.origin)" == "https://docs.s3.eu-central-1.amazonaws.com" && !amazon.isPathStyle)
        let dotted = try S3Endpoint(url: nil, region: nil, isPathStyle: nil, bucket: "my.docs")
        #expect("\(dotted.origin)" == "https://s3.us-east-1.amazonaws.com" && dotted.isPathStyle)
        let own = try S3Endpoint(url: "http://127.0.0.1:8333", region: nil, isPathStyle: nil, bucket: "docs")
        #expect(own.isPathStyle && "\(own.origin)" == "http://127.0.0.1:8333")
        #expect(throws: S3Address.Problem.self) {
            try S3Endpoint(url: "https://host/path", region: nil, isPathStyle: nil, bucket: "docs")
        }
    }
}

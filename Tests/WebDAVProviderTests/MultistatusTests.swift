import HTTPTransport
import Testing
import XMLStream

@testable import WebDAVProvider

/// Answers in XML: what is taken from them, and what is refused.
@Suite struct MultistatusTests {
    private func read(_ text: String, pieces: Int = .max) throws -> [DAVResponse] {
        let reader = MultistatusReader()
        var responses: [DAVResponse] = []
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: max(1, min(pieces, bytes.count))) {
            let piece = Array(bytes[start..<min(start + min(pieces, bytes.count), bytes.count)])
            responses += try piece.withUnsafeBytes { try reader.feed($0) }
        }
        try reader.finish()
        return responses
    }

    private static let answer = """
        <?xml version="1.0"?><d:multistatus xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns"><d:response>
        <d:href>/a%20b/</d:href><d:propstat><d:prop><d:resourcetype><d:collection/></d:resourcetype><oc:fileid>12</oc:fileid>
        <d:resource-id><d:href>urn:uuid:1</d:href></d:resource-id></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat>
        <d:propstat><d:prop><d:getetag>"no"</d:getetag></d:prop><d:status>HTTP/1.1 404 Not Found</d:status></d:propstat>
        </d:response><d:response><d:href>/gone</d:href><d:status>HTTP/1.1 404 Not Found</d:status></d:response>
        <d:sync-token>t1</d:sync-token></d:multistatus>
        """

    @Test(arguments: [Int.max, 1, 7]) func whatIsSaidIsTaken(pieces: Int) throws {
        let responses = try read(Self.answer, pieces: pieces)
        #expect(responses.count == 2)
        #expect(responses[0].href == "/a%20b/" && responses[0].isFolder && responses[0].properties[.fileID] == "12")
        #expect(responses[0].properties[.resourceID] == "urn:uuid:1")
        #expect(responses[0].properties[.entityTag] == nil)
        #expect(responses[1].status == 404 && responses[1].isNothing)
    }

    @Test(
        "XML that could fill the memory or read local files is refused",
        arguments: [
            #"<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><d:multistatus xmlns:d="DAV:">&b;</d:multistatus>"#,
            #"<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><d:multistatus xmlns:d="DAV:">&a;</d:multistatus>"#,
            #"<!DOCTYPE x SYSTEM "http://localhost/x.dtd"><d:multistatus xmlns:d="DAV:"/>"#,
            #"<d:multistatus xmlns:d="DAV:">"# + String(repeating: "<d:a>", count: 100),
            #"<d:multistatus xmlns:d="DAV:"><d:response><d:href>"# + String(repeating: "x", count: 100_000)
                + "</d:href></d:response></d:multistatus>",
            "<html><body>Sign in</body></html>", "", "<d:multistatus xmlns:d=\"DAV:\"><d:response>", "not xml",
        ])
    func badAnswers(_ text: String) { #expect(throws: (any Error).self) { try read(text) } }

    @Test(
        "endless text is refused after 128 KiB",
        arguments: [
            (#"<d:multistatus xmlns:d="DAV:"><d:response a=""#, "x"), (#"<d:multistatus xmlns:d="DAV:"><d:resp"#, "x"),
            (#"<d:multistatus xmlns:d="DAV:"><!-- "#, "x"), (#"<d:multistatus xmlns:d="DAV:">"#, "<!-- x -->"),
            (#"<d:multistatus xmlns:d="DAV:">"#, "<?x y?>"), (#"<d:multistatus xmlns:d="DAV:">"#, " "),
            (#"<d:multistatus xmlns:d="DAV:"><d:response><![CDATA["#, "x"),
        ])
    func endless(_ beginning: String, _ again: String) throws {
        #expect(try fedUntilRefused(beginning, again) <= 256 << 10)
    }

    @Test(
        "an endless entry is refused after 256 KiB, also if it has real content",
        arguments: [
            (propstat + "<d:prop>", "<d:getetag>x</d:getetag>"), (propstat + "<d:prop>", "<d:unknown/>"),
            (propstat, "<d:prop><d:getetag>x</d:getetag></d:prop>"), (propstat, "</d:propstat><d:propstat>"),
            (response, "<d:href>/a</d:href>"), (response, "<d:status>HTTP/1.1 200 OK</d:status>"),
            (start, "<d:unknown/>"), (start, "<d:sync-token>x</d:sync-token>"),
        ])
    func endlessEntry(_ beginning: String, _ again: String) throws {
        #expect(try fedUntilRefused(beginning, again) <= 512 << 10)
    }

    private static let start = #"<d:multistatus xmlns:d="DAV:">"#
    private static let response = start + "<d:response>"
    private static let propstat = response + "<d:href>/a</d:href><d:propstat>"

    @Test("many valid entries may be longer together") func manyEntries() throws {
        let entry = Self.propstat.dropFirst(Self.start.count) + "<d:prop/></d:propstat></d:response>"
        let count = (1 << 20) / entry.utf8.count
        let all = String(repeating: String(entry), count: count)
        #expect(try read(Self.start + all + "</d:multistatus>", pieces: 4_096).count == count)
    }

    /// In bytes; of 8 MiB.
    private func fedUntilRefused(_ beginning: String, _ again: String) throws -> Int {
        let reader = MultistatusReader()
        _ = try Array(beginning.utf8).withUnsafeBytes { try reader.feed($0) }
        let piece = Array(String(repeating: again, count: 4_096 / again.utf8.count).utf8)
        var fed = 0
        #expect(throws: BadXML.self) {
            while fed < 8 << 20 {
                _ = try piece.withUnsafeBytes { try reader.feed($0) }
                fed += piece.count
            }
        }
        return fed
    }

    @Test func theNameOfANamespaceHasABound() {
        let name = String(repeating: "n", count: 2_000)
        #expect(throws: BadXML.self) { try read(#"<d:multistatus xmlns:d="DAV:" xmlns:e="\#(name)"/>"#) }
    }

    @Test(
        "without entity tags the date shows a new version of the same size",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 +0200", "Sun, 06 Nov 1994 08:49:37 +0100"),
            ("1994-11-06T08:49:37Z", "1994-11-06T08:49:38Z"),
        ])
    func versionsByDate(_ first: String, _ second: String) throws {
        let place = try #require(HTTPLocation("https://h/"))
        let validators = try [first, second].map { date in
            var response = DAVResponse()
            response.href = "/a"
            response.properties[.contentLength] = "5"
            response.properties[.lastModified] = date
            return try DAVResource(response, on: place, named: "h").validator
        }
        #expect(validators[0] != validators[1])
    }

    @Test(arguments: [
        ("\"abc\"", "abc"), ("W/\"abc\"", "abc"), ("abc", "abc"), ("  \"a-b\" ", "a-b"),
    ])
    func tags(_ text: String, _ tag: String) {
        let validator = Validator(tag: text)
        #expect(validator == .tag(tag))
        #expect(validator.flatMap { Validator($0.version) } == validator)
        #expect(validator?.condition.value == "\"\(tag)\"")
    }

    @Test(arguments: ["", "\"\"", "\"a\nb\"", "a b", "ä"]) func noTags(_ text: String) {
        #expect(Validator(tag: text) == nil)
    }

    @Test func withoutATagDateAndSizeTell() {
        let validator = Validator.dateAndSize(784_111_777, 5)
        #expect(Validator(validator.version) == validator)
        #expect(validator.condition == ("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"))
    }
}

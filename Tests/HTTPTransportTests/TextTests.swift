import Testing

@testable import HTTPTransport

/// Places, dates and secrets, as text.
@Suite struct TextTests {
    @Test(arguments: [
        ("https://Example.ORG/a%20b/c", "https://example.org/a%20b/c"), ("http://h:80/", "http://h/"),
        ("https://h:8443", "https://h:8443/"), ("https://h/a//b/./c/../d/", "https://h/a/b/d/"),
        ("https://[::1]:8080/x", "https://[::1]:8080/x"), ("https://h/%e4%b8%ad?x=1#f", "https://h/%E4%B8%AD?x=1"),
        ("https://h/a+b", "https://h/a%2Bb"), ("https://h/..", "https://h/"),
    ])
    func aPlaceIsMadeCanonical(_ text: String, _ canonical: String) {
        #expect(HTTPLocation(text)?.url == canonical)
    }

    @Test(arguments: [
        "", "ftp://h/", "https://", "https:///x", "https://u:p@h/", "https://h:0/", "https://h/%zz", "h/x",
    ])
    func whatIsNoPlaceIsRefused(_ text: String) { #expect(HTTPLocation(text) == nil) }

    @Test(arguments: [
        ("/x/y", "https://h/x/y"), ("z", "https://h/a/b/z"), ("../z", "https://h/a/z"), ("https://o/q", "https://o/q"),
        ("//o/q", "https://o/q"),
    ])
    func aReferenceIsSeenFromItsPlace(_ reference: String, _ expected: String) throws {
        let place = try #require(HTTPLocation("https://h/a/b/"))
        #expect(place.resolve(reference)?.url == expected)
    }

    @Test func whatIsBelow() throws {
        let folder = try #require(HTTPLocation("https://h/a/"))
        #expect(HTTPLocation("https://h/a/b")?.components(below: folder).map(Array.init) == [Array("b".utf8)])
        #expect(HTTPLocation("https://h/a/")?.components(below: folder)?.isEmpty == true)
        #expect(HTTPLocation("https://h/ab/c")?.components(below: folder) == nil)
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ] as [(String, Int64)])
    func dates(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate.parse(text) == seconds)
        #expect(HTTPDate.parse(HTTPDate.format(seconds)) == seconds)
    }

    @Test(
        "dates with other time zones, and RFC 3339 dates, are parsed to the right moment",
        arguments: [
            "Sun, 06 Nov 1994 10:49:37 +0200", "Sun, 06 Nov 1994 10:49:37 +02:00", "Sun, 06 Nov 1994 03:49:37 -0500",
            "Sun, 06 Nov 1994 03:49:37 EST", "Sunday, 06-Nov-94 14:19:37 +0530", "Sun, 06 Nov 1994 08:49:37 UTC",
            "1994-11-06T08:49:37Z", "1994-11-06t08:49:37z", "1994-11-06 08:49:37.125Z", "1994-11-06T09:49:37+01:00",
            "1994-11-06T00:19:37.5-08:30",
        ])
    func otherDates(_ text: String) { #expect(HTTPDate.parse(text) == 784_111_777) }

    @Test(arguments: [
        "1994-11-06T08:49:37", "1994-13-06T08:49:37Z", "1994-11-06T08:49:37+1", "1994-11-06T08:49:37+99:00",
        "0000-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37 +9900", "Sun, 06 Nov 1994 08:49:37 XYZ", "1994-11-06",
        "Sun, 06 Nov 1994 08:49:37 " + String(repeating: "+", count: 1_000),
    ])
    func whatIsNoOtherDateIsNone(_ text: String) { #expect(HTTPDate.parse(text) == nil) }

    @Test(arguments: ["", "yesterday", "Sun, 06 Xyz 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT"])
    func whatIsNoDateIsNone(_ text: String) { #expect(HTTPDate.parse(text) == nil) }

    @Test func retryAfter() {
        #expect(ServerPause.seconds(" 120 ", answeredAt: nil) == 120)
        let now = "Sun, 06 Nov 1994 08:49:37 GMT"
        // By the server's own clock: ours may be off.
        #expect(ServerPause.seconds("Sun, 06 Nov 1994 08:50:07 GMT", answeredAt: now) == 30)
        #expect(ServerPause.seconds("soon", answeredAt: now) == nil)
        let serverPause = ServerPause()
        serverPause.begin(seconds: 1e12)
        #expect(serverPause.remaining.map { $0 <= ServerPause.longest } == true)
    }

    @Test func aSecretIsNotShown() {
        let credential = Credential.basic(user: "ada", password: Secret("swordfish"))
        #expect(!"\(credential)".contains("swordfish") && !String(reflecting: credential).contains("swordfish"))
        var dumped = ""
        dump(credential, to: &dumped)
        #expect(!dumped.contains("swordfish"))
        #expect(credential.authorization.revealed == "Basic YWRhOnN3b3JkZmlzaA==")
    }

    @Test func namesAreBytes() throws {
        let name: [UInt8] = [0xff, 0x2f, 0x25, 0x20]
        let coded = PercentCoding.encode(name)
        #expect(coded == "%FF%2F%25%20")
        #expect(PercentCoding.decode(coded.utf8) == name)
        #expect(PercentCoding.decode("%4".utf8) == nil)
    }
}

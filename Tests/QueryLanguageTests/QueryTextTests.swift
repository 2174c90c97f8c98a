import Foundation
import QueryLanguage
import Testing
import UniformTypes

/// What people type.
@Suite struct QueryTextTests {
    private static let calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0)!
        return calendar
    }()
    /// 2024-05-31 12:00 UTC.
    private static let now = Date(timeIntervalSince1970: 1_717_156_800)

    private func parse(_ text: String) throws(QueryTextError) -> QueryPredicate {
        try QueryPredicate(text: text, now: Self.now, calendar: Self.calendar)
    }

    private static let words: [Understood] = [
        Understood("", .everything),
        Understood("report", .name(.contains("report"))),
        Understood("name:=a.txt", .name(.equals("a.txt"))),
        Understood("name:*.tex", .name(.matches("*.tex"))),
        Understood("name:\"a b\"", .name(.contains("a b"))),
        Understood("\"a:b\"", .name(.contains("a:b"))),
        Understood("path:2024/", .path(.contains("2024/"))),
    ]

    private static let values: [Understood] = [
        Understood("\"two words\"", .name(.contains("two words"))),
        Understood("*.tex", .name(.matches("*.tex"))),
        Understood("\"*.tex\"", .name(.contains("*.tex"))),
        Understood("size:>1M", .size(.greater, 1 << 20)),
        Understood("size:<=1.5kb", .size(.lessOrEqual, 1_536)),
        Understood("size:0", .size(.equal, 0)),
        Understood("kind:pdf", .type("com.adobe.pdf")),
        Understood("type:image/png", .type("public.png")),
        Understood("kind:image", .type("public.image")),
        Understood("kind:Folder", .type("public.folder")),
        Understood("owner:alice", .owner("alice")),
        Understood("state:placeholder", .state(.placeholder)),
        Understood("tag:urgent", .tag("urgent")),
        Understood("text:\"net income\"", .text("net income")),
        Understood("a-b", .name(.contains("a-b"))),
    ]

    private static let joined: [Understood] = [
        Understood("size:1k..2k", .all([.size(.greaterOrEqual, 1_024), .size(.lessOrEqual, 2_048)])),
        Understood("-a", .not(.name(.contains("a")))),
        Understood("NOT a", .not(.name(.contains("a")))),
        Understood("a b", .all([.name(.contains("a")), .name(.contains("b"))])),
        Understood("a AND b", .all([.name(.contains("a")), .name(.contains("b"))])),
        Understood("a OR b c", .any([.name(.contains("a")), .all([.name(.contains("b")), .name(.contains("c"))])])),
        Understood(
            "(a OR b) -c", .all([.any([.name(.contains("a")), .name(.contains("b"))]), .not(.name(.contains("c")))])),
    ]

    private static let dates: [Understood] = [
        Understood("modified:<7d", .date(.modified, .greater, 1_717_156_800 - 7 * 86_400)),
        Understood("created:>=2h", .date(.created, .lessOrEqual, 1_717_156_800 - 7_200)),
        Understood("accessed:>1y", .date(.accessed, .less, 1_717_156_800 - 365 * 86_400)),
        Understood("modified:>2024-05-30", .date(.modified, .greaterOrEqual, 1_717_113_600)),
        Understood("modified:>=2024-05-30", .date(.modified, .greaterOrEqual, 1_717_027_200)),
        Understood("modified:<2024", .date(.modified, .less, 1_704_067_200)),
        Understood(
            "modified:today",
            .all([.date(.modified, .greaterOrEqual, 1_717_113_600), .date(.modified, .less, 1_717_200_000)])),
        Understood(
            "modified:2024-05",
            .all([.date(.modified, .greaterOrEqual, 1_714_521_600), .date(.modified, .less, 1_717_200_000)])),
        Understood(
            "modified:2024-05-01..2024-05-31",
            .all([.date(.modified, .greaterOrEqual, 1_714_521_600), .date(.modified, .less, 1_717_200_000)])),
    ]

    struct Understood: Sendable {
        let text: String
        let predicate: QueryPredicate
        init(_ text: String, _ predicate: QueryPredicate) { (self.text, self.predicate) = (text, predicate) }
    }

    @Test(arguments: words + values + joined + dates)
    func understood(_ wanted: Understood) throws { #expect(try parse(wanted.text) == wanted.predicate) }

    @Test(arguments: [
        ("colour:red", "there is no “colour:”"),
        ("name:", "name: needs a value"),
        ("size:big", "give bytes"), ("size:-1", "give bytes"), ("size:1e300", "give bytes"), ("size:nan", "give bytes"),
        ("modified:soon", "give an age"), ("modified:2024-02-31", "give an age"), ("modified:2024-13", "give an age"),
        ("modified:7d", "write <7d"), ("modified:<1e9d", "give an age"),
        ("state:gone", "choose of placeholder, partial"),
        ("kind:nothing-like-it", "no such type"),
        ("(a", "a “)” is missing"), ("a)", "without a “(”"), ("()", "nothing between"),
        ("a OR", "at the end"), ("OR a", "beside OR"), ("\"a", "quotation mark is missing"),
    ])
    func refused(_ text: String, _ reason: String) {
        let error = #expect(throws: QueryTextError.self) { try parse(text) }
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test func boundedInLengthDepthAndNumber() {
        #expect(throws: QueryTextError.self) { try parse(String(repeating: "a", count: 10_001)) }
        #expect(throws: QueryTextError.self) { try parse(String(repeating: "(", count: 5_000)) }
        #expect(throws: QueryTextError.self) { try parse(String(repeating: "-", count: 5_000) + "a") }
        #expect(throws: QueryTextError.self) { try parse(String(repeating: "a ", count: 1_001)) }
        #expect(throws: Never.self) { try parse(String(repeating: "a ", count: 900)) }
    }

    @Test func goesThroughJSON() throws {
        let predicate = try parse("(a OR kind:image) -size:>1M modified:<7d state:error tag:x")
        let json = try JSONEncoder().encode(predicate)
        #expect(try JSONDecoder().decode(QueryPredicate.self, from: json) == predicate)
    }
}

/// How texts are compared.
@Suite struct TextMatcherTests {
    private func holds(_ match: QueryPredicate.TextMatch, _ text: String) -> Bool {
        TextMatcher(match).matches(folded: FoldedText.fold(text))
    }

    @Test func caseAccentsAndTheirEncodingDoNotCount() {
        #expect(holds(.contains("RÉSUMÉ"), "My resume.pdf"))
        #expect(holds(.contains("resume"), "re\u{301}sume\u{301}.pdf"))
        #expect(holds(.contains("straße"), "STRASSE"))
        #expect(holds(.equals("Ärger.txt"), "a\u{308}rger.TXT"))
        #expect(!holds(.equals("a"), "ab"))
        #expect(holds(.begins("Ab"), "abc") && !holds(.begins("bc"), "abc"))
        #expect(holds(.ends("BC"), "abc") && !holds(.ends("ab"), "abc"))
        #expect(holds(.contains(""), "anything"))
        #expect(holds(.contains("aab"), "aaab") && !holds(.contains("aaab"), "aab"))
        #expect(FoldedText.fold(bytes: [0x41, 0xFF, 0x42]) == "a\u{FFFD}b")
    }

    @Test(arguments: [
        ("*.txt", "a.txt", true), ("*.txt", "a.txt.gz", false), ("*", "", true), ("?", "é", true), ("?", "", false),
        ("a*b*c", "aXbYc", true), ("a*b*c", "aXcYb", false), ("[a-c]x", "bx", true), ("[!a-c]x", "bx", false),
        ("[!a-c]x", "zx", true), ("[]]", "]", true), ("[", "[", true), ("a\\*b", "a*b", true), ("a\\*b", "aXb", false),
        ("**a", "bca", true), ("2024/*", "2024/a/b", true), ("[z-a]", "m", true), ("[日-本]", "日", true),
        ("[!]]", "a", true), ("[!]", "[!]", true), ("[a", "[a", true), ("[a][b", "a[b", true), ("[a-]", "-", true),
        ("[ad-fb]*[0-9]", "e2024", true), ("[ad-fb]", "c", false), ("a\\", "a\\", true), ("\\é*", "Éa", true),
        ("*[é]?", "xé", false), ("*[日]?*", "x日本語", true), ("???", "ab", false), ("*a*a*a", "aa", false),
    ])
    func patterns(_ pattern: String, _ text: String, _ matches: Bool) {
        #expect(holds(.matches(pattern), text) == matches)
    }

    /// (Each name has 50 characters, at each of which all of the set is asked for.)
    @Test(.timeLimit(.minutes(1))) func aLargeSetIsReadOnce() {
        let matcher = TextMatcher(.matches("*[" + String(repeating: "bz", count: 4_900) + "]q*"))
        let name = FoldedText.fold(String(repeating: "bczd", count: 12) + "bz")
        for _ in 0..<10_000 { #expect(!matcher.matches(folded: name)) }
    }

    @Test func aPatternOfManyStarsEnds() {
        let pattern = String(repeating: "*a", count: 200) + "b"
        #expect(!holds(.matches(pattern), String(repeating: "a", count: 2_000)))
    }
}

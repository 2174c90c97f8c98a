import FileProvider

extension ConformanceSuite {
    static let nameRules: [ConformanceRule] = [
        ConformanceRule(701, "Names with spaces and punctuation are kept as they are, or refused as invalid.") { it in
            try await roundTrip(
                it,
                [
                    "two words", " leading", "trailing ", "trailing.", ".hidden", "..more", "-dash", "~tilde", "a\tb",
                    "line\nbreak", "quote\"'`", "back\\slash", "per%20cent", "query?x=1&y#z", "star*[a]{b}", "a:b|c<d>",
                    "$HOME", "CON", "a;b",
                ])
        },
        ConformanceRule(702, "Names beyond ASCII are kept byte for byte, or refused as invalid.") { it in
            try await roundTrip(
                it,
                [
                    "Größe", "日本語.txt", "👩‍👩‍👧", "עברית", "\u{1}control",
                    // "é" as one scalar, and as two.
                    "composed \u{e9}", "decomposed e\u{301}",
                ])
        },
        ConformanceRule(703, "Names of 255 bytes are kept, or refused as invalid.") { it in
            try await roundTrip(
                it,
                [
                    Filename(String(repeating: "x", count: 255)),
                    Filename(String(repeating: "ä", count: 127) + "x"),
                    Filename(String(repeating: "y", count: 251) + ".txt"),
                ])
        },
        ConformanceRule(704, "Names that are not UTF-8 are kept byte for byte, or refused as invalid.") { it in
            try await roundTrip(it, [Filename(bytes: [0x61, 0xff, 0xfe]), Filename(bytes: [0xc3])])
        },
        ConformanceRule(705, "A name that no file can have is refused, and leads nowhere.") { it in
            let inner = try await it.makeFolder("inner")
            let bad: [Filename] = [
                "", ".", "..", "a/b", "../escaped", "/absolute", "nul\0", Filename(String(repeating: "x", count: 256)),
            ]
            for name in bad {
                try await it.requireError(from: "a creation under the name “\(name)”") {
                    _ = try await it.provider.createItem(
                        it.template(name, in: inner.identifier), contents: BytesSource("x"))
                }
            }
            try await it.requireNames("inner", after: "the refused creations")
            try await it.requireNames(in: inner.identifier, after: "the refused creations")
        },
        ConformanceRule(706, "A rename keeps every name that a creation keeps.") { it in
            let names: [Filename] = ["two words", "per%20cent", "query?x=1&y#z", "Größe", "a+b"]
            for name in names {
                let plain = try await it.makeDocument("plain")
                let renamed = try await unlessInvalid {
                    try await it.provider.moveItem(
                        plain.identifier, to: it.folder, as: name, baseVersion: plain.version)
                }
                let item = renamed ?? plain
                let found = try await it.items().map(\.filename)
                try it.require(
                    found == [item.filename] && [name, "plain"].contains(item.filename),
                    "a rename to \(name) gave \(found)")
                try await it.provider.deleteItem(item.identifier, baseVersion: item.version)
            }
        },
    ]

    /// Makes a document under each name, one after another, checks that it is enumerated and read under the name, and
    /// deletes all of them at the end.
    private static func roundTrip(_ it: ConformanceContext, _ names: [Filename]) async throws {
        var refused: [Filename] = []
        var kept: [Item] = []
        for (index, name) in names.enumerated() {
            let bytes = ConformanceContext.testBytes(10 + index)
            let made = try await unlessInvalid {
                try await it.provider.createItem(it.template(name), contents: BytesSource(bytes))
            }
            guard let item = made else {
                refused.append(name)
                try await it.requireNames(kept.map(\.filename), after: "the refusal of \(name)")
                continue
            }
            try it.require(item.filename == name, "“\(name)” was made as “\(item.filename)”")
            kept.append(item)
            try await it.requireNames(kept.map(\.filename), after: "the creation of \(name)")
            try await it.requireContents(item, are: bytes)
        }
        // At the end: some servers' conditions do not hold in the second after a change (Apache's weak tags).
        for item in kept { try await it.provider.deleteItem(item.identifier, baseVersion: item.version) }
        try await it.requireNames(after: "the deletion of all names")
        if refused.count == names.count { throw RuleSkip("the store refuses all of \(refused)") }
    }

    /// Nil when the store refuses the name. (A `catch where` in a loop makes the 6.3 compiler loop.)
    private static func unlessInvalid(_ body: () async throws -> Item) async throws -> Item? {
        do {
            return try await body()
        } catch let error as FileProviderError {
            guard error.code == .invalidName else { throw error }
            return nil
        }
    }
}

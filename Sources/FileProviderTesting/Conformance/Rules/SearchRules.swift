import FileProvider

/// Rules for providers that are ``FileProvider/SearchingProvider``, and whose store searches after all.
extension ConformanceSuite {
    static let searchRules: [ConformanceRule] = [
        ConformanceRule(1801, "A search finds items by parts of their names, without regard to case.") { it in
            let word = searchWord(1)
            let folder = try await it.makeFolder("folder")
            let item = try await it.makeDocument(Filename("The \(word) of May.txt"), in: folder.identifier)
            for part in [word, word.uppercased()] {
                let found = try await search(it, StoreSearch(nameParts: [part]))
                try it.require(
                    found.findings.contains { $0.path.last == item.filename },
                    "a search for “\(part)” does not find “\(item.filename)”")
            }
        },
        ConformanceRule(1802, "The path of a finding leads to its item, and the finding agrees with the folder.") {
            it in
            let word = searchWord(2)
            let folder = try await it.makeFolder(Filename("\(word) folder"))
            let inner = try await it.makeFolder("inner", in: folder.identifier)
            _ = try await it.makeDocument(
                Filename("\(word).txt"), ConformanceContext.testBytes(77), in: inner.identifier)
            let found = try await search(it, StoreSearch(nameParts: [word]))
            try it.require(found.findings.count >= 2, "it finds \(found.findings.count) of a document and a folder")
            for finding in found.findings {
                guard let item = try await walk(it, finding.path) else {
                    throw RuleFailure("no item is at \(text(finding.path))")
                }
                try it.require(item.kind == finding.kind, "\(text(finding.path)) is said to be a \(finding.kind)")
                if finding.kind.isDocument {
                    try it.require(
                        item.size == finding.size, "\(text(finding.path)): \(finding.size) bytes, not \(item.size)")
                }
                try it.require(
                    finding.identifier.map { $0 == item.identifier } ?? true,
                    "\(text(finding.path)) is said to be \(finding.identifier.map { "\($0)" } ?? ""), not \(item.identifier)"
                )
            }
        },
        ConformanceRule(1803, "A search by size finds documents of this size, and no folders.") { it in
            let word = searchWord(3)
            _ = try await it.makeFolder(Filename("\(word) folder"))
            for size in [10, 20, 30] {
                _ = try await it.makeDocument(Filename("\(word) \(size)"), ConformanceContext.testBytes(size))
            }
            let found = try await search(it, StoreSearch(nameParts: [word], size: 15...25))
            let names = found.findings.compactMap(\.path.last).filter { $0.string.contains(word) }
            try it.require(names == [Filename("\(word) 20")], "of 10, 20 and 30 bytes, 15 to 25 finds \(names)")
        },
        ConformanceRule(1804, "A search finds no deleted items, and renamed items only under the new name.") {
            it in
            let (old, new) = (searchWord(4), searchWord(5))
            let (gone, moved) = (
                try await it.makeDocument(Filename("\(old) 1")), try await it.makeDocument(Filename("\(old) 2"))
            )
            try await it.provider.deleteItem(gone.identifier, baseVersion: gone.version)
            _ = try await it.provider.moveItem(
                moved.identifier, to: moved.parentIdentifier, as: Filename(new), baseVersion: moved.version)
            let nothing = try await search(it, StoreSearch(nameParts: [old]))
            try it.require(
                nothing.findings.isEmpty,
                "a search still finds \(nothing.findings.map { text($0.path) }.joined(separator: ", "))")
            let found = try await search(it, StoreSearch(nameParts: [new]))
            try it.require(found.findings.count == 1, "under the new name, it finds \(found.findings.count) items")
        },
        ConformanceRule(1805, "A search returns at most as many items as requested, and says whether there are more.") {
            it in
            let word = searchWord(6)
            for number in 1...3 { _ = try await it.makeDocument(Filename("\(word) \(number)")) }
            let some = try await search(it, StoreSearch(nameParts: [word], limit: 2))
            try it.require(
                some.findings.count == 2 && !some.isComplete,
                "of 3, at most 2 requested, it finds \(some.findings.count)\(some.isComplete ? ", and says that these are all" : "")"
            )
            let all = try await search(it, StoreSearch(nameParts: [word], limit: 3))
            try it.require(
                all.findings.count == 3 && all.isComplete,
                "of 3, at most 3 requested, it finds \(all.findings.count)\(all.isComplete ? "" : ", and does not say that these are all")"
            )
        },
        ConformanceRule(1806, "A search by extension finds the part behind the last dot of a name.") { it in
            let word = searchWord(7)
            let names = [".one", ".two", "one", ".one.old"].map { Filename(word + $0) }
            for name in names { _ = try await it.makeDocument(name) }
            let found = try await search(it, StoreSearch(nameParts: [word], filenameExtensions: ["one"]))
            let those = found.findings.compactMap(\.path.last)
            try it.require(those == [names[0]], "of \(names), the extension “one” finds \(those)")
        },
    ]

    /// A word that no other name has, as items outside the scratch folder do not count.
    private static func searchWord(_ number: Int) -> String {
        "hydrant\(UInt32.random(in: 1_000_000 ... .max))x\(number)"
    }

    private static func search(_ it: ConformanceContext, _ search: StoreSearch) async throws -> StoreFindings {
        let reason = "the store does not search"
        guard let provider = it.abilities.searching, provider.canSearch else { throw RuleSkip(reason) }
        return try await unlessUnsupported(reason) { try await provider.search(search) }
    }

    private static func walk(_ it: ConformanceContext, _ path: [Filename]) async throws -> Item? {
        var (folder, found) = (ItemIdentifier.rootContainer, Item?.none)
        for name in path {
            found = try await it.items(in: folder).first { $0.filename == name }
            guard let item = found else { return nil }
            folder = item.identifier
        }
        return found
    }

    private static func text(_ path: [Filename]) -> String { path.map { "\($0)" }.joined(separator: "/") }
}

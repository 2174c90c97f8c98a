import FileProviderTesting
import Foundation
import Testing

/// What stands in the documentation is what there is.
@Suite struct DocumentationTests {
    private static let folder = URL(filePath: #filePath, directoryHint: .notDirectory)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/FileProviderTesting", directoryHint: .isDirectory)

    /// The article is written by this test when `HYDRANT_WRITE_DOCS` is set.
    @Test func theArticleListsEveryRule() throws {
        let url = Self.folder.appending(path: "Documentation.docc/ConformanceRules.md", directoryHint: .notDirectory)
        let right = try Self.article()
        if ProcessInfo.processInfo.environment["HYDRANT_WRITE_DOCS"] != nil {
            try Data(right.utf8).write(to: url)
        }
        let found = String(decoding: try Data(contentsOf: url), as: UTF8.self)
        #expect(
            found == right,
            "\(url.path) is out of date: run HYDRANT_WRITE_DOCS=1 swift test --filter DocumentationTests")
    }

    /// The report in the documentation is what the suite says of that provider.
    @Test func theReportThatIsShownIsReal() async throws {
        let url = Self.folder.appending(path: "Documentation.docc/FileProviderTesting.md", directoryHint: .notDirectory)
        let text = String(decoding: try Data(contentsOf: url), as: UTF8.self)
        let broken = try #require(BrokenProvider.all.first { $0.rule == 402 })
        let report = await ConformanceSuite(provider: try broken.makeStore().provider).run()
        #expect(text.contains("```\n\(report)\n```"), "\(url.path) should show:\n\(report)")
    }

    private static func article() throws -> String {
        let faults = Dictionary(uniqueKeysWithValues: BrokenProvider.all.map { ($0.rule, $0.fault) })
        var lines = [
            "# The rules of the conformance suite", "",
            "The rules for every provider, by number, each with the fault of the `BrokenProvider` that breaks only this rule.",
            "",
            "Numbers never change their meaning. Rules with a star change nothing in the store, and also run on stores that",
            "take no changes.", "",
        ]
        for (hundred, title) in groups {
            let rules = ConformanceSuite.rules.filter { $0.number / 100 == hundred }
            try #require(!rules.isEmpty, "no rules: \(title)")
            lines += ["## \(title)", "", "| | Rule | Fault that breaks it |", "|---|---|---|"]
            for rule in rules {
                let fault = try #require(faults[rule.number])
                lines.append("| \(rule.number)\(rule.changesTheStore ? "" : "*") | \(rule.title) | \(fault) |")
            }
            lines.append("")
        }
        try #require(ConformanceSuite.rules.allSatisfy { rule in groups.contains { $0.0 == rule.number / 100 } })
        return lines.joined(separator: "\n")
    }

    private static let groups = [
        (1, "Looking"), (2, "Downloads"), (3, "Creation"), (4, "Changed contents"), (5, "Moves"), (6, "Deletion"),
        (7, "Names"), (8, "Several calls at once"), (9, "Metadata, signals, stopProvidingItem"),
        (10, "Reading existing items"), (11, "Changes since an anchor"), (12, "Capabilities"), (13, "Copies"),
        (14, "Trash"), (15, "Thumbnails"), (16, "Quota"), (17, "Persistent identifiers"),
        (18, "The store's own search"), (19, "Favourites"), (20, "Links"), (21, "Versions"),
    ]

    /// Every public symbol says what it is: a line of documentation stands before it.
    @Test func everyPublicSymbolIsDocumented() throws {
        let files = try #require(
            FileManager.default.enumerator(at: Self.folder, includingPropertiesForKeys: nil)?.allObjects as? [URL])
        var bare: [String] = []
        for file in files where file.pathExtension == "swift" {
            let lines = String(decoding: try Data(contentsOf: file), as: UTF8.self).split(
                separator: "\n", omittingEmptySubsequences: false
            ).map { $0.trimmingCharacters(in: .whitespaces) }
            // What a protocol asks for is documented there.
            var isConformance = false
            for (index, line) in lines.enumerated() {
                if line.hasPrefix("extension") || line.hasPrefix("public extension") {
                    isConformance = line.contains(": ") && !line.contains("where Base == ")
                }
                guard line.hasPrefix("public "), !line.hasPrefix("public import") else { continue }
                var before = index - 1
                while before >= 0, lines[before].hasPrefix("@") { before -= 1 }
                let isDocumented = before >= 0 && lines[before].hasPrefix("///")
                if !isDocumented, !isConformance, !Self.isRequirement(line) {
                    bare.append("\(file.lastPathComponent):\(index + 1): \(line)")
                }
            }
        }
        #expect(bare.isEmpty, "\(bare.joined(separator: "\n"))")
    }

    /// Of the protocols of the SDK and of the standard library, whose documentation these inherit.
    private static func isRequirement(_ line: String) -> Bool {
        [
            "func providePlaceholder(", "func enumerateItems(", "func startProvidingItem(", "func itemChanged(",
            "func stopProvidingItem(", "func createItem(", "func moveItem(", "func deleteItem(",
            "func beginServing(", "func persistentIdentifierForItem(", "func urlForItem(", "var providerIdentifier",
            "var isReadOnly: Bool { base", "var documentGroup: String? { base", "func write(", "func read(at offset",
            "var size: Int64",
        ].contains { line.hasPrefix("public \($0)") }
    }
}

import Foundation
import Testing

/// What an author of a provider finds in the documentation.
@Suite("Documentation of public symbols")
struct DocumentationTests {
    private struct Declaration {
        var kind: String
        var name: String
        var line: String
        var indentation: Int
        var isPublic: Bool
        var isDocumented: Bool
    }

    private static func files(_ folder: String) throws -> [String] {
        try #require(FileManager.default.enumerator(atPath: GuideTests.root.appending(path: folder).path))
            .compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.map { folder + "/" + $0 }
    }

    /// The public declarations of a file. Members of a public protocol and cases of a public enum are public without
    /// saying so.
    private static func declarations(_ text: String) -> [Declaration] {
        var found: [Declaration] = []
        var around: [Declaration] = []
        var previous = ""
        let pattern =
            /^(public )?(?:(?:static|final|mutating|nonisolated|indirect) )*(func|var|let|init|struct|enum|protocol|class|actor|subscript|case|typealias|extension)\b ?([\w<]*)/
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let trimmed = line.drop { $0 == " " }
            let indentation = line.count - trimmed.count
            if let match = trimmed.firstMatch(of: pattern) {
                around.removeAll { $0.indentation >= indentation }
                let outer = around.last { $0.indentation == indentation - 4 }
                let isMember = outer.map {
                    $0.isPublic && ($0.kind == "protocol" || $0.kind == "enum" && match.2 == "case")
                }
                let declaration = Declaration(
                    kind: String(match.2), name: String(match.3), line: String(trimmed), indentation: indentation,
                    isPublic: match.1 != nil || isMember == true, isDocumented: previous.hasPrefix("///"))
                around.append(declaration)
                if declaration.isPublic { found.append(declaration) }
            }
            if !trimmed.hasPrefix("@") { previous = String(trimmed) }
        }
        return found
    }

    @Test(
        "every public symbol has a description",
        arguments: ["FileProvider", "Daemon", "FileCoordination", "DocumentPicker", "UniformTypes"])
    func docstrings(module: String) throws {
        var count = 0
        for file in try Self.files("Sources/" + module) {
            for declaration in Self.declarations(try GuideTests.text(file)) {
                count += 1
                #expect(declaration.isDocumented, "\(file): \(declaration.line)")
            }
        }
        #expect(count > (module == "FileProvider" ? 100 : 8), "\(module)")
    }

    @Test(
        "the landing pages name every public type",
        arguments: ["FileProvider", "Daemon", "FileCoordination", "DocumentPicker", "UniformTypes"])
    func landingPage(module: String) throws {
        let page = try GuideTests.text("Sources/\(module)/Documentation.docc/\(module).md")
        let types = try Self.files("Sources/" + module).flatMap { try Self.declarations(GuideTests.text($0)) }
            .filter { ["struct", "enum", "protocol", "class", "actor"].contains($0.kind) && $0.indentation == 0 }
        #expect(types.count >= 2, "\(module)")
        for type in types { #expect(page.contains("- ``\(type.name)``"), "\(type.name) is not in \(module).md") }
    }

    @Test("Daemon exports its entry point and nothing else")
    func surface() throws {
        let types = try Self.files("Sources/Daemon").flatMap { try Self.declarations(GuideTests.text($0)) }
            .filter { $0.indentation == 0 }.map(\.name)
        #expect(types.sorted() == ["ProviderMain", "StoreLocation"])
    }

    /// The sources of the tests, by suite: a suite may be in several files, and two targets may have one of a name.
    private static func suites() throws -> [String: String] {
        var found: [String: String] = [:]
        for file in try files("Tests") {
            let text = try GuideTests.text(file)
            for match in text.matches(of: /(?m)^(?:@Suite.* )?(?:final )?(?:struct|class|extension) (\w+)/) {
                found[String(match.1), default: ""] += text
            }
        }
        return found
    }

    @Test("What you can rely on: each promise names tests, and these tests exist")
    func promises() throws {
        let suites = try Self.suites()
        let page = try GuideTests.text("Sources/hydrant/Documentation.docc/WhatYouCanRelyOn.md")
        var count = 0
        for section in page.components(separatedBy: "\n## ").dropFirst() {
            // A promise is an item of a list; a section without any is one promise.
            let items = section.components(separatedBy: "\n- ")
            for promise in items.count > 1 ? Array(items.dropFirst()) : items {
                count += 1
                let start = promise.prefix { $0 != "\n" }
                guard let range = promise.range(of: "*Tests: ") else {
                    Issue.record("no test is named for “\(start)”")
                    continue
                }
                let names = promise[range.upperBound...].matches(of: /`(\w+)\/(\w+)`/)
                #expect(!names.isEmpty, "\(start)")
                for name in names {
                    let text = try #require(suites[String(name.1)], "no suite \(name.1), for “\(start)”")
                    #expect(text.contains("func \(name.2)("), "no test \(name.0), for “\(start)”")
                }
            }
        }
        #expect(count > 25)
    }
}

import FileProvider
import FileProviderTesting
import Foundation
import Testing

@testable import hydrant_provider_chapters

/// The guide *Write a provider*, and the provider in it.
@Suite("The guide for authors of providers")
struct GuideTests {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// What stands between ```` ```swift ```` and ```` ``` ````.
    private static func listings(_ article: String) -> [String] {
        article.components(separatedBy: "\n```swift\n").dropFirst().compactMap { text in
            text.range(of: "\n```").map { String(text[..<$0.lowerBound]) + "\n" }
        }
    }

    @Test("the listings in the guide are the files that these tests compile, run and mount, in under 60 lines")
    func listings() throws {
        let article = try Self.text("Sources/FileProvider/Documentation.docc/WriteAProvider.md")
        let package = "Sources/Examples/ChapterProvider/"
        let provider = try Self.text(package + "Sources/hydrant-provider-chapters/ChapterProvider.swift")
        let listings = Self.listings(article)
        #expect(listings.contains(provider))
        #expect(listings.contains(try Self.text(package + "Package.swift")))
        #expect(provider.split(separator: "\n", omittingEmptySubsequences: false).count - 1 < 60)
    }

    @Test("the provider in the guide keeps the contract")
    func conformance() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "hydrant-\(UUID().uuidString).md")
        defer { try? FileManager.default.removeItem(at: file) }
        try "before\n# One\nfirst\n# Two/three\n\(String(repeating: "second\n", count: 9_000))# \n".write(
            to: file, atomically: true, encoding: .utf8)
        let provider = try ChapterProvider(file: file.path)
        let items = try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items
        #expect(items.map(\.filename.string) == ["1 before.md", "2 One.md", "3 Two-three.md", "4 .md"])
        let report = await ConformanceSuite(provider: provider).run()
        #expect(report.isPassed, "\(report)")
    }

    @Test("the provider reports an unreadable file to the user before the mount")
    func unreadable() {
        #expect { try ChapterProvider(file: "/none/book.md") } throws: {
            ($0 as? FileProviderError)?.message.contains("/none/book.md") == true
        }
    }
}

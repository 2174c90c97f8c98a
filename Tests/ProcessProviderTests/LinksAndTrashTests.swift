import FileProvider
import Foundation
import ProcessProvider
import Testing

/// Links, favourites and the trash over the provider protocol, and in the Python package.
@Suite("Provider protocol: links, favourites, trash")
struct LinksAndTrashTests {
    private static func withProvider(_ body: (ProcessProvider) async throws -> Void) async throws {
        let program = URL(filePath: #filePath, directoryHint: .notDirectory).deletingLastPathComponent()
            .appending(path: "Servers/links_and_trash.py", directoryHint: .notDirectory).path
        let command = ProgramCommand(
            words: ["env", "PYTHONPATH=\(PythonTests.folder)", "PYTHONDONTWRITEBYTECODE=1", "python3", program],
            store: "cloud:x", path: "/x", workingDirectory: "/", release: "test")
        let provider = try await ProcessProvider.start(command, logger: nil)
        do { try await body(provider) } catch {
            await provider.end()
            throw error
        }
        await provider.end()
    }

    private static func code(_ body: () async throws -> Void) async -> FileProviderError.Code? {
        do {
            try await body()
            return nil
        } catch { return (error as? FileProviderError)?.code }
    }

    @Test("marks, links with their terms, and the trash") func all() async throws {
        try await Self.withProvider { provider in
            let a = ItemIdentifier("a")
            let abilities = ProviderAbilities(of: provider)
            #expect(abilities.links != nil && abilities.openTrash != nil && abilities.favorites != nil)
            let item = try await provider.providePlaceholder(for: a)
            #expect(!item.isFavorite && item.tags == ["red", "grün"])
            let marked = try await provider.setFavorite(true, of: a)
            #expect(marked.isFavorite && marked.version.metadata != item.version.metadata)
            let until = FileTime(seconds: 1_900_000_000, nanoseconds: 5)
            let terms = LinkTerms(password: "long enough", until: until, allowsEditing: true)
            let link = try await provider.shareLink(to: a, terms: terms)
            #expect(
                link
                    == SharedLink(
                        identifier: "1", url: "https://example.org/0", hasPassword: true, until: until,
                        allowsEditing: true))
            let weak = await Self.code {
                _ = try await provider.shareLink(to: a, terms: LinkTerms(password: "weak"))
            }
            #expect(weak == .unsupported)
            #expect(try await provider.sharedLinks(to: a) == [link])
            try await provider.endSharedLink("1", to: a)
            let ended = await Self.code { try await provider.endSharedLink("1", to: a) }
            #expect(ended == .noSuchItem)
            #expect(try await provider.sharedLinks(to: a).isEmpty)
            #expect(try await provider.trashedItems().isEmpty)
            try await provider.trashItem(a, baseVersion: marked.version)
            let deleted = FileTime(seconds: 1_700_000_000, nanoseconds: 500)
            #expect(
                try await provider.trashedItems() == [
                    TrashEntry(identifier: "a.d1", path: ["b", "a.txt"], kind: .document, size: 3, deleted: deleted)
                ])
            #expect(try await provider.restoreTrashedItem("a.d1") == ["a (restored).txt"])
            let gone = await Self.code { _ = try await provider.restoreTrashedItem("a.d1") }
            #expect(gone == .noSuchItem)
        }
    }
}

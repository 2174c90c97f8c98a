import ControlAPI
import Foundation
import Testing
import UniformTypes

@testable import DocumentPicker

/// What an extension may end a presentation with: each rule of `dismissGrantingAccess(to:)`.
@Suite("Rules of dismissal")
struct DismissalRuleTests {
    /// A folder with an original, a copy of it, and others.
    private final class Files: Sendable {
        let folder: URL
        init() throws {
            folder = FileManager.default.temporaryDirectory.appending(
                path: "hydrant-rules-\(UUID().uuidString)", directoryHint: .isDirectory)
            try FileManager.default.createDirectory(
                at: folder.appending(path: "storage/sub"), withIntermediateDirectories: true)
            for (name, text) in [
                ("original.txt", "text"), ("copy.txt", "text"), ("other.txt", "TEXT"), ("shorter.txt", "tex"),
                ("picture.png", "png"), ("storage/copy.txt", "text"), ("storage/other.txt", "texx"),
            ] { try Data(text.utf8).write(to: url(name)) }
        }
        deinit { try? FileManager.default.removeItem(at: folder) }
        func url(_ name: String) -> URL { folder.appending(path: name, directoryHint: .notDirectory) }
    }

    private func rules(
        _ mode: DocumentPickerMode, _ files: Files, hasStorage: Bool = true, types: [String] = [],
        kind: ItemStatus.Kind = .document
    ) -> DismissalRules {
        DismissalRules(
            mode: mode,
            storage: hasStorage ? files.folder.appending(path: "storage", directoryHint: .isDirectory) : nil,
            original: mode.choosesDocument ? nil : files.url("original.txt"), validTypes: types.map { UniformType($0) },
            locate: { path in
                if path.string.hasPrefix("missing") { throw DocumentPickerError("\(path): no such file") }
                return ItemStatus(path: path.string, kind: kind, state: .placeholder, size: 4)
            })
    }

    /// What it says; nil: it is allowed.
    private func refusal(_ rules: DismissalRules, _ url: URL) async -> String? {
        do {
            _ = try await rules.check(url)
            return nil
        } catch { return "\(error)" }
    }

    @Test(
        "import: a readable local file or a document of the provider (which is then downloaded), of a valid type"
    )
    func importing() async throws {
        let files = try Files()
        #expect(await refusal(rules(.import, files), files.url("picture.png")) == nil)
        #expect(await refusal(rules(.import, files, hasStorage: false), files.url("picture.png")) == nil)
        // It is not here: the provider is asked, not the disk.
        #expect(await refusal(rules(.import, files), files.url("storage/sub/remote.txt")) == nil)
        #expect(await refusal(rules(.import, files), files.url("nothing.txt"))?.contains("cannot be read") == true)
        #expect(
            await refusal(rules(.import, files), files.url("storage/missing.txt"))?.contains("no such file") == true)
        #expect(await refusal(rules(.import, files), files.folder)?.contains("not a document") == true)
        #expect(
            await refusal(rules(.import, files, kind: .folder), files.url("storage/sub"))?.contains("is a folder")
                == true)
        #expect(
            await refusal(rules(.import, files, types: ["public.text"]), files.url("picture.png"))?.contains(
                "public.png") == true)
        #expect(
            await refusal(rules(.import, files, types: ["public.text"]), files.url("storage/sub/x.png"))?
                .contains("not of public.text") == true)
        #expect(
            await refusal(rules(.import, files), URL(string: "https://example.org/a.txt")!)?.contains("not a file URL")
                == true)
    }

    @Test(
        "open: only within the provider's documents, listed before or not; nothing without a file provider"
    )
    func opening() async throws {
        let files = try Files()
        #expect(await refusal(rules(.open, files), files.url("storage/sub/remote.txt")) == nil)
        #expect(
            await refusal(rules(.open, files), files.url("copy.txt"))?.contains("outside of the provider's") == true)
        #expect(
            await refusal(rules(.open, files), files.url("storage/../copy.txt"))?.contains("outside of the provider's")
                == true)
        #expect(
            await refusal(rules(.open, files), URL(filePath: files.folder.path() + "storage-too/a.txt"))?
                .contains("outside") == true)
        #expect(await refusal(rules(.open, files), files.url("storage/missing.txt"))?.contains("no such file") == true)
        #expect(
            await refusal(rules(.open, files, hasStorage: false), files.url("storage/copy.txt"))?
                .contains("only a file provider's") == true)
        #expect(
            await refusal(rules(.open, files, kind: .folder), files.url("storage/sub"))?.contains("is a folder") == true
        )
        #expect(
            await refusal(rules(.open, files, types: ["public.image"]), files.url("storage/copy.txt"))?
                .contains("not of public.image") == true)
    }

    @Test("export: a copy of the original, anywhere; never the original itself or another file")
    func exporting() async throws {
        let files = try Files()
        #expect(await refusal(rules(.export, files), files.url("copy.txt")) == nil)
        #expect(await refusal(rules(.export, files), files.url("storage/copy.txt")) == nil)
        #expect(await refusal(rules(.export, files, hasStorage: false), files.url("copy.txt")) == nil)
        #expect(await refusal(rules(.export, files), files.url("original.txt"))?.contains("is the original") == true)
        #expect(await refusal(rules(.export, files), files.url("other.txt"))?.contains("is not a copy") == true)
        #expect(await refusal(rules(.export, files), files.url("shorter.txt"))?.contains("is not a copy") == true)
        #expect(await refusal(rules(.export, files), files.url("nothing.txt"))?.contains("cannot be read") == true)
    }

    @Test("move: as export, but within the provider's documents")
    func moving() async throws {
        let files = try Files()
        #expect(await refusal(rules(.move, files), files.url("storage/copy.txt")) == nil)
        #expect(
            await refusal(rules(.move, files), files.url("copy.txt"))?.contains("outside of the provider's") == true)
        #expect(
            await refusal(rules(.move, files, hasStorage: false), files.url("storage/copy.txt"))?
                .contains("only be moved to a file provider") == true)
        #expect(await refusal(rules(.move, files), files.url("storage/other.txt"))?.contains("is not a copy") == true)
        #expect(await refusal(rules(.move, files), files.url("original.txt"))?.contains("is the original") == true)
    }

    @Test("the original under another name is not a copy: a move would destroy it")
    func sameFile() async throws {
        let files = try Files()
        let link = files.url("storage/link.txt"), second = files.url("storage/second.txt")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: files.url("original.txt"))
        try FileManager.default.linkItem(at: files.url("original.txt"), to: second)
        for mode in [DocumentPickerMode.export, .move] {
            #expect(await refusal(rules(mode, files), link)?.contains("not a document") == true)
            #expect(await refusal(rules(mode, files), second)?.contains("is the original") == true)
        }
    }

    @Test("the context has mode, original and types only after it is prepared")
    func context() async throws {
        let storage = URL(filePath: "/storage", directoryHint: .isDirectory)
        func made() -> DocumentPickerContext {
            DocumentPickerContext(
                providerIdentifier: "p", documentStorageURL: storage, documentGroupURL: nil, shows: { _ in },
                dismisses: { _ in })
        }
        let context = made()
        #expect(context.documentPickerMode == nil && context.originalURL == nil && context.validTypes == nil)
        #expect(context.providerIdentifier == "p" && context.documentStorageURL == storage)
        context.prepare(.init(mode: .open, originalURL: nil, validTypes: [.content]))
        #expect(context.documentPickerMode == .open && context.validTypes == [.content] && context.originalURL == nil)
        let original = URL(filePath: "/x", directoryHint: .notDirectory)
        let other = made()
        other.prepare(.init(mode: .move, originalURL: original, validTypes: nil))
        #expect(other.documentPickerMode == .move && other.originalURL == original && other.validTypes == nil)
    }

    @Test("export and move need a source, which must be a readable document")
    func sources() throws {
        let files = try Files()
        _ = try DocumentPicker(.export, source: files.url("original.txt"))
        _ = try DocumentPicker(.open, types: [.content])
        #expect(throws: DocumentPickerError.self) { try DocumentPicker(.export) }
        #expect(throws: DocumentPickerError.self) { try DocumentPicker(.import, source: files.url("original.txt")) }
        #expect(throws: DocumentPickerError.self) { try DocumentPicker(.move, source: files.url("nothing")) }
        #expect(throws: DocumentPickerError.self) { try DocumentPicker(.move, source: files.folder) }
    }
}

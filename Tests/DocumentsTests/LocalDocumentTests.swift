import Documents
import Foundation
import Testing
import UniformTypes

/// Documents that lie in no mounted domain: there is nobody to coordinate with.
@MainActor
@Suite("Documents outside of any mount")
struct LocalDocumentTests {
    final class Text: Document {
        var text = ""
        override func contents(forType type: UniformType) throws -> DocumentContents { .data(Data(text.utf8)) }
        override func load(fromContents contents: DocumentContents, ofType type: UniformType) throws {
            text = String(decoding: contents.data ?? Data(), as: UTF8.self)
        }
        func edit(_ text: String) {
            self.text = text
            updateChangeCount(.done)
        }
    }
    final class Nothing: Document {}

    private func with(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/hydrant-document-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }

    private func read(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }

    @Test("made, saved by itself, moved and deleted as any other")
    func works() async throws {
        try await with { folder in
            let path = folder + "/note.txt"
            let document = Text(fileURL: URL(filePath: path))
            document.edit("one")
            try await document.save(to: document.fileURL, for: .forCreating)
            #expect(read(path) == "one" && document.documentState == .normal)
            document.autosaveDelay = .milliseconds(50)
            document.edit("two")
            let deadline = ContinuousClock.now + .seconds(60)
            while document.hasUnsavedChanges && .now < deadline { try await Task.sleep(for: .milliseconds(10)) }
            #expect(read(path) == "two")
            try await document.move(to: URL(filePath: folder + "/other.txt"))
            #expect(read(folder + "/other.txt") == "two" && read(path) == nil)
            try await document.delete()
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
        }
    }

    @Test("another's version is noticed when it is saved: both are kept", arguments: Document.KeptVersion.allCases)
    func conflict(_ kept: Document.KeptVersion) async throws {
        try await with { folder in
            let path = folder + "/note.txt"
            try Data("old".utf8).write(to: URL(filePath: path))
            let document = Text(fileURL: URL(filePath: path))
            try await document.open()
            document.edit("mine")
            try Data("theirs".utf8).write(to: URL(filePath: path))
            try await document.autosaveIfNeeded()
            #expect(document.documentState == .inConflict && read(path) == "theirs")
            let version = try #require(document.unresolvedConflictVersions.first)
            #expect(version.isOwn && read(version.url.path(percentEncoded: false)) == "mine")
            try await document.resolveConflict(keeping: kept)
            #expect(document.documentState == .normal)
            #expect(read(path) == (kept == .mine ? "mine" : "theirs") && document.text == read(path))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == (kept == .both ? 2 : 1))
            try await document.close()
        }
    }

    @Test("a class that says nothing of its contents is refused; nothing is written")
    func noContents() async throws {
        try await with { folder in
            let document = Nothing(fileURL: URL(filePath: folder + "/x"))
            await #expect(throws: DocumentError.self) {
                try await document.save(to: document.fileURL, for: .forCreating)
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(names == [])
        }
    }
}

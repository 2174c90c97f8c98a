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
    /// Is changed once while it is being saved.
    final class Restless: Document {
        var text = "old"
        override func contents(forType type: UniformType) throws -> DocumentContents {
            if text == "first" {
                Task {
                    text = "second"
                    updateChangeCount(.done)
                }
            }
            return .data(Data(text.utf8))
        }
    }

    private func with(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/hydrant-document-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }

    private func read(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }

    @Test("a document is made, autosaved, moved and deleted")
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

    @Test(
        "another program's version is noticed at the save, and both are kept", arguments: Document.KeptVersion.allCases)
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

    private func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    private func code(_ body: () async throws -> Void) async -> DocumentError.Code? {
        do { try await body() } catch { return (error as? DocumentError)?.code }
        return nil
    }

    private func put(_ text: String, _ path: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }

    /// Open, with changes of its own that are in a conflicted copy.
    private func inConflict(_ body: (_ folder: String, _ document: Text, _ copy: String) async throws -> Void)
        async throws
    {
        try await with { folder in
            let path = folder + "/note.txt"
            try put("old", path)
            let document = Text(fileURL: URL(filePath: path))
            document.autosaveDelay = nil
            try await document.open()
            document.edit("mine")
            try put("theirs", path)
            try await document.autosaveIfNeeded()
            let own = try #require(document.unresolvedConflictVersions.first)
            try await body(folder, document, own.url.path(percentEncoded: false))
            try await document.close(savingChanges: false)
        }
    }

    @Test("a file does not replace a folder with files in it, nor a package a file, unless the program asks for that")
    func kinds() async throws {
        try await with { folder in
            try FileManager.default.createDirectory(atPath: folder + "/in", withIntermediateDirectories: true)
            try put("kept", folder + "/in/kept.txt")
            let document = Text(fileURL: URL(filePath: folder + "/in"))
            try await document.open()
            document.edit("word")
            #expect(await code { try await document.autosaveIfNeeded() } == .exists)
            #expect(read(folder + "/in/kept.txt") == "kept" && document.documentState == .savingError)
            document.mayChangeKind = true
            try await document.close()
            #expect(try read(folder + "/in") == "word" && names(folder) == ["in"])
        }
    }

    @Test("another program's write during the save of a large document is kept: both versions stay")
    func writtenMeanwhile() async throws {
        try await with { folder in
            let path = folder + "/note.txt"
            // (Under load the other one may come too late; then he has simply written last.)
            for round in 1...10 {
                try put("old \(round)", path)
                let document = Text(fileURL: URL(filePath: path))
                try await document.open()
                document.edit(String(repeating: "mine\n", count: 10_000_000))
                let other = Thread {
                    let deadline = Date() + 30
                    while Date() < deadline,
                        (try? FileManager.default.contentsOfDirectory(atPath: folder))?
                            .contains(where: { $0.hasPrefix(".hydrant-scoped-save-") }) != true
                    { usleep(500) }
                    let file = fopen(path, "w")
                    fputs("theirs", file)
                    fclose(file)
                }
                other.start()
                try await document.save(to: document.fileURL, for: .forOverwriting)
                while !other.isFinished { try await Task.sleep(for: .milliseconds(5)) }
                #expect(read(path) == "theirs")
                guard document.documentState == .inConflict else {
                    try await document.close(savingChanges: false)
                    continue
                }
                let copy = try #require(document.unresolvedConflictVersions.first)
                #expect(read(copy.url.path(percentEncoded: false))?.hasPrefix("mine") == true)
                return try await document.close()
            }
            Issue.record("nobody came while it was saved")
        }
    }

    @Test("another program's write into a conflicted copy is kept: the next save makes another copy")
    func copyIsWritten() async throws {
        try await inConflict { folder, document, copy in
            try put("his", copy)
            document.edit("mine, and more")
            try await document.autosaveIfNeeded()
            let own = try #require(document.unresolvedConflictVersions.first { $0.isOwn })
            #expect(read(copy) == "his" && read(own.url.path(percentEncoded: false)) == "mine, and more")
            #expect(try names(folder).count == 3)
        }
        for kept in [Document.KeptVersion.mine, .theirs] {
            try await inConflict { folder, document, copy in
                try put("his", copy)
                try await document.resolveConflict(keeping: kept)
                #expect(document.documentState == .normal && read(copy) == "his")
                #expect("\(document.lastError as Any)".contains("somebody has written"))
                #expect(read(folder + "/note.txt") == (kept == .mine ? "mine" : "theirs"))
            }
        }
    }

    @Test("a deleted conflicted copy is made again; after the conflict there is none")
    func copyIsGone() async throws {
        try await inConflict { folder, document, copy in
            unlink(copy)
            document.edit("mine, and more")
            try await document.autosaveIfNeeded()
            #expect(read(copy) == "mine, and more" && document.documentState == .inConflict)
            unlink(copy)
            try await document.resolveConflict(keeping: .mine)
            #expect(document.documentState == .normal && document.unresolvedConflictVersions.isEmpty)
            #expect(try read(folder + "/note.txt") == "mine, and more" && names(folder) == ["note.txt"])
        }
    }

    @Test(
        "a deleted file is noticed at the save: the document closes, and can be saved again or beside another file"
    )
    func gone() async throws {
        try await with { folder in
            let path = folder + "/note.txt"
            try put("old", path)
            let document = Text(fileURL: URL(filePath: path))
            for isTaken in [false, true] {
                if !isTaken { try await document.open() }
                document.edit("mine \(isTaken)")
                unlink(path)
                #expect(await code { try await document.autosaveIfNeeded() } == .missing)
                #expect(document.documentState == [.closed, .savingError] && document.hasUnsavedChanges)
                if isTaken { try put("another", path) }
                try await document.recreateFile()
                #expect(document.documentState == .normal && !document.hasUnsavedChanges)
                #expect(read(path) == (isTaken ? "another" : "mine false"))
            }
            #expect(document.fileURL.lastPathComponent.hasPrefix("note (conflicted copy, "))
            #expect(read(document.fileURL.path(percentEncoded: false)) == "mine true")
            #expect(await code { try await document.recreateFile() } == .alreadyOpen)
            try await document.close()
        }
    }

    @Test("a change made while the document closes is saved; openOrCreate() opens a document that exists already")
    func restless() async throws {
        try await with { folder in
            let path = folder + "/note.txt"
            let document = Restless(fileURL: URL(filePath: path))
            #expect(try await document.openOrCreate())
            document.text = "first"
            document.updateChangeCount(.done)
            try await document.close()
            #expect(read(path) == "second" && document.documentState == .closed)
            let second = Text(fileURL: URL(filePath: path))
            #expect(try await !second.openOrCreate())
            #expect(second.text == "second")
            try await second.close()
        }
    }

    @Test(
        "a document recognises its file under any spelling, so a conflict is not overwritten; a link stays a link")
    func spelling() async throws {
        try await with { folder in
            let path = folder + "/note.txt"
            try put("old", path)
            try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: folder)
            try FileManager.default.createSymbolicLink(atPath: folder + "/other", withDestinationPath: "note.txt")
            let document = Text(fileURL: URL(filePath: path))
            try await document.open()
            for spelling in ["/link/note.txt", "/other", "/link/./note.txt"] {
                document.edit("mine")
                try put("theirs " + spelling, path)
                try await document.save(to: URL(filePath: folder + spelling), for: .forOverwriting)
                #expect(read(path) == "theirs " + spelling && document.documentState == .inConflict)
                try await document.resolveConflict(keeping: .theirs)
            }
            try await document.close()
            let other = Text(fileURL: URL(filePath: folder + "/new.txt"))
            other.edit("elsewhere")
            try await other.save(to: other.fileURL, for: .forCreating)
            try await other.save(to: URL(filePath: folder + "/other"), for: .forOverwriting)
            #expect(read(path) == "elsewhere" && other.fileURL.lastPathComponent == "note.txt")
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder + "/other") == "note.txt")
            try await other.close()
        }
    }

    @Test("a class that does not override contents(forType:) is refused; nothing is written")
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

import Foundation
import Testing

@testable import Documents

@Suite("Reading and writing files")
struct FileWriterTests {
    private let none = DocumentAttributes()

    private func with(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.path + "/hydrant-file-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    private func put(_ text: String, _ path: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }
    private func read(_ path: String) -> DocumentContents? { try? FileReader.read(path, mostBytes: 1_000).contents }
    private func text(_ text: String) -> DocumentContents { .data(Data(text.utf8)) }

    private func message(_ body: () throws -> Void) -> String {
        do { try body() } catch { return "\(error)" }
        return "nothing was thrown"
    }

    @Test(
        "another program's write during a save is kept, also after the last check",
        arguments: [false, true], ["theirs", "gone"])
    func race(_ hasChecked: Bool, _ theirs: String) throws {
        try with { folder in
            let path = folder + "/a"
            try put("old", path)
            let known = try FileReader.read(path, mostBytes: 100).known
            var writer = FileWriter(attributes: none)
            writer.willPlace = { now in
                guard now == hasChecked else { return }
                if theirs == "gone" { unlink(path) } else { try? Data(theirs.utf8).write(to: URL(filePath: path)) }
            }
            #expect(throws: (any Error).self) { try writer.replace(path, with: Data("mine".utf8), known: known) }
            #expect(read(path) == (theirs == "gone" ? nil : text(theirs)))
            #expect(try FilePath.names(in: folder) == (theirs == "gone" ? [] : ["a"]))
            // Without anybody it is replaced, and nothing stays beside it.
            try put("old", path)
            let now = try FileReader.read(path, mostBytes: 100).known
            let saved = try FileWriter(attributes: none).replace(path, with: Data("mine".utf8), known: now)
            #expect(try read(path) == text("mine") && FileReader.isAsKnown(path, saved))
            #expect(try FilePath.names(in: folder) == ["a"])
        }
    }

    @Test("another program's write, creation or removal of a file in a package during a save is kept")
    func packageRace() throws {
        for change in ["write", "make", "removed one"] {
            try with { folder in
                let path = folder + "/package"
                let old = ["a": text("a"), "b": text("b"), "c": text("c")]
                let known = try PackageWriter.create(old, at: path, none)
                #expect(throws: AnotherVersion.self) {
                    // Makes d; exchanges a and b; removes c.
                    let new = ["a": text("A"), "b": text("B"), "d": text("D")]
                    _ = try PackageWriter.replace(path, with: new, known: known, none) { step in
                        switch (change, step) {
                        case ("write", 2): try put("his", path + "/b")
                        case ("make", 0): try put("his", path + "/d")
                        case ("removed one", 3): try put("his", path + "/c")
                        default: break
                        }
                    }
                }
                var wanted = old
                wanted[change == "write" ? "b" : change == "make" ? "d" : "c"] = text("his")
                #expect(read(path) == .package(wanted), "\(change)")
                #expect(try FilePath.names(in: folder) == ["package"])
            }
        }
        try with { folder in
            // What he has made before is not taken for a file that is to be removed.
            let path = folder + "/package"
            let known = try PackageWriter.create(["a": text("a")], at: path, none)
            try put("his", path + "/b")
            #expect(throws: AnotherVersion.self) {
                try PackageWriter.replace(path, with: ["a": text("A")], known: known, none)
            }
            #expect(read(path) == .package(["a": text("a"), "b": text("his")]))
        }
    }

    @Test(
        "a package is rolled back if the second removal fails, or if its attributes cannot be set")
    func packageFailures() throws {
        struct Broken: Error {}
        try with { folder in
            let path = folder + "/package"
            let old = ["a": text("a"), "b": text("b"), "c": text("c")]
            let known = try PackageWriter.create(old, at: path, none)
            #expect(throws: Broken.self) {
                try PackageWriter.replace(path, with: ["a": text("A")], known: known, none) { step in
                    if step == 2 { throw Broken() }
                }
            }
            #expect(try read(path) == .package(old) && FileReader.isAsKnown(path, known))
            #expect(throws: DocumentError.self) {
                let attributes = DocumentAttributes(extendedAttributes: ["nonsense": Data("x".utf8)])
                _ = try PackageWriter.replace(path, with: ["a": text("A")], known: known, attributes)
            }
            #expect(try read(path) == .package(old) && FileReader.isAsKnown(path, known))
        }
    }

    @Test(
        "two names in a package that differ only in Unicode composition are refused; a single one is written unchanged"
    )
    func composition() throws {
        try with { folder in
            let (composed, decomposed) = ("\u{e9}", "e\u{301}")
            let path = folder + "/package"
            let known = try PackageWriter.create([decomposed: text("1")], at: path, none)
            _ = try PackageWriter.replace(path, with: [composed: text("2")], known: known, none)
            #expect(try FilePath.names(in: path).map { Array($0.utf8) } == [Array(decomposed.utf8)])
            #expect(read(path) == .package([composed: text("2")]))
            try put("3", path + "/" + composed)
            #expect(message { _ = try FileReader.read(path, mostBytes: 100) }.contains("composed otherwise"))
        }
    }

    @Test("a file of /proc, which has no size, is read whole, within the limit")
    func kernelFiles() throws {
        let loaded = try FileReader.read("/proc/self/status", mostBytes: 1 << 20).contents
        #expect(String(decoding: loaded.data ?? Data(), as: UTF8.self).contains("Pid:"))
        #expect(message { _ = try FileReader.read("/proc/self/status", mostBytes: 10) }.contains("more than 10 bytes"))
    }

    @Test("without RENAME_NOREPLACE, links and empty folders still prevent any replacement")
    func linking() throws {
        try with { folder in
            try put("new", folder + "/new")
            try put("there", folder + "/there")
            #expect(FilePath.moveNewByLinking(folder + "/new", to: folder + "/there") == -1 && errno == EEXIST)
            #expect(FilePath.moveNewByLinking(folder + "/new", to: folder + "/a") == 0)
            #expect(read(folder + "/a") == text("new") && read(folder + "/there") == text("there"))
            _ = try PackageWriter.create(["x": text("x")], at: folder + "/package", none)
            #expect(FilePath.moveNewByLinking(folder + "/package", to: folder + "/there") == -1 && errno == EEXIST)
            #expect(FilePath.moveNewByLinking(folder + "/package", to: folder + "/p") == 0)
            #expect(read(folder + "/p") == .package(["x": text("x")]))
            #expect(try FilePath.names(in: folder).sorted() == ["a", "p", "there"])
        }
    }

    @Test("remains of a killed save are removed when they are old; nothing else is removed")
    func sweep() throws {
        try with { folder in
            for name in [".hydrant-scoped-save-1", ".hydrant-scoped-save-2/in", ".hidden", "a"] {
                let path = folder + "/" + name
                try FileManager.default.createDirectory(
                    atPath: FilePath.folder(path), withIntermediateDirectories: true)
                try put("x", path)
            }
            DocumentFile.sweep(folder)
            #expect(try FilePath.names(in: folder).count == 4, "they may be in use")
            DocumentFile.sweep(folder, olderThan: -1)
            #expect(try FilePath.names(in: folder).sorted() == [".hidden", "a"])
        }
    }
}

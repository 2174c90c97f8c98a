import Foundation
import Testing

@testable import Documents

@Suite("Writing packages")
struct PackageWriterTests {
    private struct Broken: Error {}

    private func with(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.path + "/hydrant-package-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    private func text(_ text: String) -> DocumentContents { .data(Data(text.utf8)) }

    @Test("a save that fails at any step but a removal leaves the package unchanged, and nothing beside it")
    func failure() throws {
        let old: [String: DocumentContents] = [
            "a": text("a"), "b": text("b"), "in": .package(["c": text("c")]), "kind": text("file"),
            "gone": text("gone"),
        ]
        let new: [String: DocumentContents] = [
            "a": text("A"), "b": text("b"), "in": .package(["c": text("C"), "d": text("D")]),
            "kind": .package(["x": text("X")]), "new": .package(["y": text("Y")]),
        ]
        // Two are added, three exchanged, one removed.
        for failing in 0...6 {
            try with { folder in
                let path = folder + "/package"
                let known = try PackageWriter.create(old, at: path, DocumentAttributes())
                let before = try FileReader.read(path, mostBytes: 1_000)
                #expect(before.contents == .package(old) && before.known == known)
                var steps = 0
                func replace() throws -> KnownContents {
                    try PackageWriter.replace(path, with: new, known: known, DocumentAttributes()) { number in
                        steps += 1
                        if number == failing { throw Broken() }
                    }
                }
                if failing < 6 {
                    #expect(throws: Broken.self) { try replace() }
                    let after = try FileReader.read(path, mostBytes: 1_000)
                    #expect(after.contents == before.contents, "step \(failing)")
                    #expect(after.known == before.known, "they are the same files, step \(failing)")
                } else {
                    let saved = try replace()
                    let after = try FileReader.read(path, mostBytes: 1_000)
                    #expect(after.contents == .package(new) && after.known == saved && steps == 6)
                }
                #expect(try FilePath.names(in: folder) == ["package"])
            }
        }
    }

    @Test("a file becomes a package, and the reverse, under its name")
    func kinds() throws {
        try with { folder in
            let path = folder + "/document"
            _ = try FileWriter(attributes: DocumentAttributes()).create(Data("file".utf8), at: path)
            _ = try PackageWriter.exchange(
                path, with: .package(["a": text("a")]), known: nil, DocumentAttributes())
            #expect(try FileReader.read(path, mostBytes: 100).contents == .package(["a": text("a")]))
            _ = try PackageWriter.exchange(
                path, with: text("file again"), known: nil, DocumentAttributes(permissions: 0o640))
            #expect(try FileReader.read(path, mostBytes: 100).contents == text("file again"))
            #expect(try FileReader.status(path).st_mode & 0o777 == 0o640)
            #expect(try FilePath.names(in: folder) == ["document"])
        }
    }

    @Test(
        "contents that do not fit a package are refused before any write, and packages without bounds when they are read"
    )
    func bounds() throws {
        for name in ["", ".", "..", "a/b", "a\0b", String(repeating: "x", count: 256)] {
            #expect(throws: DocumentError.self) { try DocumentContents.package([name: text("")]).check() }
        }
        var deep = text("")
        for _ in 0..<DocumentContents.mostLevels { deep = .package(["in": deep]) }
        try deep.check()
        #expect(throws: DocumentError.self) { try DocumentContents.package(["in": deep]).check() }
        try with { folder in
            let path = folder + "/package"
            _ = try PackageWriter.create(["a": text("123"), "b": text("456")], at: path, DocumentAttributes())
            #expect(try FileReader.read(path, mostBytes: 6).contents.children?.count == 2)
            #expect(throws: DocumentError.self) { try FileReader.read(path, mostBytes: 5) }
            try FileManager.default.createSymbolicLink(atPath: path + "/link", withDestinationPath: "a")
            #expect(throws: DocumentError.self) { try FileReader.read(path, mostBytes: 100) }
        }
    }

    @Test("any difference in contents changes the digest")
    func digest() {
        let long = Data(repeating: 7, count: 100_000)
        var other = long
        other[99_000] = 8
        #expect(DocumentContents.data(long).digest == DocumentContents.data(long).digest)
        #expect(DocumentContents.data(long).digest != DocumentContents.data(other).digest)
        #expect(text("a").digest != DocumentContents.package(["a": text("")]).digest)
        #expect(
            DocumentContents.package(["a": text("b"), "c": text("d")]).digest
                != DocumentContents.package(["a": text("d"), "c": text("b")]).digest)
    }

    @Test("names of conflicted copies fit, and keep the extension")
    func copyNames() {
        let name = FilePath.name(
            FilePath.conflictedCopy(of: "/a/" + String(repeating: "ü", count: 120) + ".txt", number: 12))
        #expect(name.utf8.count <= 255 && name.hasSuffix(" 12).txt") && name.contains(" (conflicted copy, "))
        #expect(FilePath.conflictedCopy(of: "/a/.profile", number: 1).hasPrefix("/a/.profile (conflicted copy, "))
    }
}

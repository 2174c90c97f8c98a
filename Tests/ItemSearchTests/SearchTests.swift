import FileProvider
import Foundation
import ItemCatalog
import ItemSearch
import QueryLanguage
import Testing
import Trees

/// What a query finds in a catalog.
@Suite struct SearchTests {
    private let test = try! SearchedCatalog()

    private func fill() throws {
        try test.list([
            document("Report 2024.pdf", size: 2 << 20, modified: 1_717_156_800), document("notes.txt", size: 100),
            document("Résumé.odt", size: 5_000), document("IMG_0001.JPG", size: 3 << 20),
            document("archive", kind: .folder), document("link", kind: .symbolicLink(target: Array("notes.txt".utf8))),
        ])
        try test.list(
            [
                document("archive/report 2023.pdf", size: 1_000, modified: 1_680_000_000, in: "id:archive"),
                document("archive/deep", kind: .folder, in: "id:archive"),
            ], in: try test.inode("archive"))
        try test.create("draft.md")
    }

    @Test(arguments: [false, true])
    func eachConditionFindsItsOwn(_ isIndexed: Bool) async throws {
        try fill()
        if isIndexed { try test.grow() }
        let everything = [
            "IMG_0001.JPG", "Report 2024.pdf", "Résumé.odt", "archive", "archive/deep", "archive/report 2023.pdf",
            "draft.md", "link", "notes.txt",
        ]
        let wanted: [(String, [String])] = [
            ("", everything), ("report", ["Report 2024.pdf", "archive/report 2023.pdf"]), ("resume", ["Résumé.odt"]),
            ("*.pdf 2024", ["Report 2024.pdf"]), ("name:=notes.txt", ["notes.txt"]), ("me", ["Résumé.odt"]),
            ("path:archive/", ["archive/deep", "archive/report 2023.pdf"]), ("kind:pdf -2023", ["Report 2024.pdf"]),
            ("kind:image", ["IMG_0001.JPG"]), ("kind:folder", ["archive", "archive/deep"]), ("kind:link", ["link"]),
            ("size:>1M", ["IMG_0001.JPG", "Report 2024.pdf"]), ("size:100", ["notes.txt"]),
            ("modified:2024", ["Report 2024.pdf"]),
            ("modified:>2023-01-01 kind:pdf", ["Report 2024.pdf", "archive/report 2023.pdf"]),
            ("state:uploading", ["draft.md"]), ("state:downloaded kind:document", ["draft.md"]),
            ("state:placeholder kind:folder", ["archive/deep"]),
            ("state:placeholder kind:text", ["notes.txt"]), ("owner:1000 draft", ["draft.md"]),
            ("owner:nobody-at-all", []), ("state:conflict", []), ("state:excluded", []), ("tag:x", []),
            ("img OR draft", ["IMG_0001.JPG", "draft.md"]), ("size:5..3", []),
        ]
        for (text, paths) in wanted {
            #expect(try await test.find(text) == paths, "\(text)")
            #expect(try await test.find(text, withIndex: false) == paths, "\(text), without the index")
        }
    }

    @Test func onlyInTheFoldersThatWereNamed() async throws {
        try fill()
        #expect(try await test.find("", in: ["archive"]) == ["archive/deep", "archive/report 2023.pdf"])
        #expect(try await test.find("report", in: ["archive"]) == ["archive/report 2023.pdf"])
        #expect(try await test.find("state:uploading", in: ["archive"]) == [])
        #expect(
            try await test.find("", in: ["archive", "archive/deep"]) == ["archive/deep", "archive/report 2023.pdf"])
    }

    @Test func pinnedTaggedAndExcluded() async throws {
        try fill()
        let folder = try test.inode("archive")
        try test.catalog.write { writer in
            try writer.setPinned(try writer.item(of: folder)!.id, true)
            try writer.setExtendedAttribute(
                Array("user.xdg.tags".utf8), to: Array("tax, Ürgent".utf8), of: try writer.resolve(["notes.txt"]).id,
                presence: .any, settle: 0)
        }
        try test.create(".~lock.a#")
        #expect(try await test.find("state:pinned") == ["archive", "archive/deep", "archive/report 2023.pdf"])
        #expect(try await test.find("tag:urgent") == ["notes.txt"])
        #expect(try await test.find("tag:ta") == [])
        #expect(try await test.find("state:excluded") == [".~lock.a#"])
        #expect(try await test.find("state:uploading") == ["draft.md", "notes.txt"])
    }

    @Test func itEndsWhenItIsEnough() async throws {
        try test.list((0..<2_000).map { document("d\($0)") })
        var search = ItemSearch(.everything, catalog: test.catalog, names: nil)
        var batches = 0
        try await search.gather { items in
            #expect(items.count <= ItemSearch.batch)
            batches += 1
            return batches < 2
        }
        #expect(batches == 2)
    }

    @Test func whoWritesDoesNotWait() async throws {
        try test.list((0..<2_000).map { document("d\($0)") })
        var search = ItemSearch(.everything, catalog: test.catalog, names: nil)
        var made = 0
        try await search.gather { _ in
            // In the middle of it.
            made += 1
            try test.create(Filename("made \(made)"))
            return true
        }
        #expect(made >= 4)
        #expect(try await test.find("made").count == made)
    }

    @Test func theWayIsTheShortest() async throws {
        func way(_ text: String, scoped: Bool = false) throws -> SearchPlan.Way {
            SearchPlan(try QueryPredicate(text: text), isScoped: scoped) { UInt32($0) }.way
        }
        #expect(try way("report kind:pdf") == .index([["report"]]))
        #expect(try way("Ünïcode-Überraschung size:>1") == .index([["unicode-uberraschung"]]))
        #expect(try way("re*longest*x") == .index([["longest"]]))
        #expect(try way("(report OR letter -old) size:>1") == .index([["report"], ["letter"]]))
        #expect(try way("report OR ab") == .names)
        #expect(try way("report OR size:>1") == .inodes(SearchBounds()))
        #expect(try way("x[abc]def kind:pdf") == .names)
        #expect(try way("report state:uploading") == .few(.uploading))
        #expect(try way("report", scoped: true) == .index([["report"]]))
        #expect(try way("", scoped: true) == .walk)
        #expect(try way("kind:pdf") == .names)
        #expect(try way("owner:nobody-at-all") == .none)
        #expect(try way("size:>5 size:<3") == .none)
        guard case .inodes(let bounds) = try way("size:>=5 size:<10 owner:7 a OR b") else {
            return #expect(try way("size:>=5 size:<10 owner:7 (a OR b)") != .names)
        }
        #expect(bounds == SearchBounds())
    }
}

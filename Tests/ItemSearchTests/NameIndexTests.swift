import FileProvider
import Foundation
import ItemCatalog
import ItemSearch
import QueryLanguage
import Testing
import Trees

/// The index of names is behind the catalog, and what a search finds is not.
@Suite struct NameIndexTests {
    private let test = try! SearchedCatalog()

    @Test func whatIsMadeAfterItIsFoundAtBothEnds() async throws {
        try test.list([document("report 1"), document("other")])
        try test.grow()
        let range = test.names.range
        try test.create("report 2")
        try test.list([document("report 1"), document("other"), document("report 3")])
        #expect(test.names.range == range)
        #expect(try await test.find("report") == ["report 1", "report 2", "report 3"])
        try test.grow()
        #expect(test.names.range != range)
        #expect(try await test.find("report") == ["report 1", "report 2", "report 3"])
    }

    @Test func whatIsRenamedIsFoundUnderItsNewNameOnly() async throws {
        try test.list([document("report"), document("folder", kind: .folder), document("other")])
        try test.create("mine")
        try test.grow()
        try test.rename("report", "letter")
        try test.rename("other", "report too", to: test.inode("folder"))
        try test.rename("mine", "report of mine")
        for _ in 0..<2 {
            #expect(try await test.find("report") == ["folder/report too", "report of mine"])
            #expect(try await test.find("letter") == ["letter"])
            #expect(try await test.find("other") == [])
            try test.grow()
        }
        #expect(try test.catalog.read { try $0.movedNames() } == [])
        // In the store too.
        try test.list(
            [document("report"), document("folder", kind: .folder), document("other")].map { item in
                var item = item
                if item.identifier == ItemIdentifier("id:folder") { item.filename = "reports" }
                return item
            })
        #expect(try await test.find("report").contains("reports"))
    }

    @Test func whatHasOneOfSeveralPartsIsFoundOnce() async throws {
        try test.list([document("report"), document("letter"), document("report of a letter"), document("other")])
        try test.grow()
        try test.rename("other", "letter too")
        try test.create("a new report, a letter")
        for _ in 0..<2 {
            for withIndex in [true, false] {
                let found = try await test.find("report OR letter OR rep*ter", withIndex: withIndex)
                #expect(found == ["a new report, a letter", "letter", "letter too", "report", "report of a letter"])
                #expect(try await test.find("(report OR letter) -new -too", withIndex: withIndex).count == 3)
            }
            try test.grow()
        }
    }

    @Test func whatIsExchangedIsFoundUnderItsOwnName() async throws {
        try test.list([document("one.report"), document("two.letter")])
        try test.grow()
        var items = [document("one.report"), document("two.letter")]
        (items[0].filename, items[1].filename) = (items[1].filename, items[0].filename)
        try test.list(items)
        #expect(try await test.find("report") == ["one.report"])
        #expect(try await test.find("letter") == ["two.letter"])
        let identifier = try test.catalog.read { reader in
            try reader.item(of: try reader.resolve(["one.report"]).id)?.identifier
        }
        #expect(identifier == ItemIdentifier("id:two.letter"))
    }

    @Test func itIsKeptOverARestartAndMadeAnewWhenItIsDamaged() async throws {
        try test.list((0..<100).map { document("report \($0)") })
        try test.grow()
        let range = try #require(test.names.range)
        try test.reopenNames()
        #expect(test.names.range == range)
        test.names.close()
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: test.directory + "/names" + suffix)
        }
        try Data(repeating: 7, count: 100_000).write(
            to: URL(filePath: test.directory + "/names", directoryHint: .notDirectory))
        try test.reopenNames()
        #expect(test.names.range == nil)
        #expect(try await test.find("report 99") == ["report 99"])
        try test.grow()
        #expect(test.names.range == range)
        #expect(try await test.find("report 99") == ["report 99"])
    }

    @Test func whatCannotBeReadWhileItIsOpenIsDoneWithout() async throws {
        try test.list((0..<3_000).map { document("report \($0)") })
        try test.grow()
        try test.reopenNames()
        try FileManager.default.removeItem(atPath: test.directory + "/names-wal")
        let file = try FileHandle(forUpdating: URL(filePath: test.directory + "/names", directoryHint: .notDirectory))
        try file.seek(toOffset: 8_192)
        try file.write(contentsOf: Data(repeating: 7, count: 400_000))
        try file.close()
        for _ in 0..<3 {
            #expect(try await test.find("report").count == 3_000)
            try? test.grow()
        }
        #expect(try test.names.numbers(like: "report 29", after: .min, limit: 1_000).count == 111)
    }

    @Test func anotherCatalogsIsNotBelieved() async throws {
        try test.list([document("report")])
        try test.grow()
        let other = try SearchedCatalog()
        try other.list([document("letter")])
        other.names.close()
        for suffix in ["", "-wal", "-shm"] {
            let (from, to) = (test.directory + "/names" + suffix, other.directory + "/names" + suffix)
            try? FileManager.default.removeItem(atPath: to)
            if FileManager.default.fileExists(atPath: from) {
                try FileManager.default.copyItem(atPath: from, toPath: to)
            }
        }
        try other.reopenNames()
        #expect(other.names.range == nil)
        #expect(try await other.find("letter") == ["letter"])
    }

    @Test func whatIsGoneIsNotFoundAndAtLastForgotten() async throws {
        try test.list((0..<3_000).map { document("report \($0)") })
        try test.grow()
        try test.list([document("report 7")])
        #expect(try await test.find("report") == ["report 7"])
        #expect(try await test.find("report") == ["report 7"])
        try test.grow()
        #expect(try test.names.numbers(like: "report", after: .min, limit: 10).count == 1)
        #expect(try await test.find("report") == ["report 7"])
    }

    @Test func namesThatAreNoTextAndPartsThatAreNoWordsAreFound() async throws {
        try test.list([
            document("a \"quoted\" name"), document("100% sure"), document("日本語のファイル.txt"), document("x' OR 1 --"),
        ])
        try test.create(Filename(bytes: Array("broken ".utf8) + [0xFF, 0xFE]))
        try test.grow()
        #expect(try await test.find(.name(.contains("\"quoted\""))) == ["a \"quoted\" name"])
        #expect(try await test.find(.name(.contains("0% s"))) == ["100% sure"])
        #expect(try await test.find(.name(.contains("語のファ"))) == ["日本語のファイル.txt"])
        #expect(try await test.find(.name(.contains("' OR 1 --"))) == ["x' OR 1 --"])
        #expect(try await test.find("broken").count == 1)
    }
}

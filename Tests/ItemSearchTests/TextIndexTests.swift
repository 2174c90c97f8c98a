import FileProvider
import Foundation
import ItemCatalog
import Testing
import Trees

/// Words of documents' texts.
@Suite struct TextIndexTests {
    private let test = try! SearchedCatalog()

    private func index() throws -> TextIndex { try TextIndex(path: test.directory + "/texts", domain: "test") }

    private func put(_ text: String, _ name: Filename, _ index: TextIndex) throws -> InodeID {
        let inode = try test.create(name)
        try index.put(text, of: inode, TextIndex.Stamp(try test.catalog.read { try $0.inode(inode) }))
        return inode
    }

    @Test(arguments: [
        ("net income of the Café", "CAFE income", true), ("net income", "inco", false),
        ("net income", "net inco*", true),
        ("नमस्ते दुनिया", "दुनिया", true), ("नमस्ते दुनिया", "नमस्ते दुनिया", true), ("வணக்கம் உலகம்", "உலகம்", true),
        ("สวัสดี ชาวโลก", "สวัสดี", true), ("كَتَبَ الوَلَدُ", "كَتَبَ", true), ("שָׁלוֹם", "שָׁלוֹם", true),
        ("中文 文件夹", "中文", true), ("中文 文件夹", "文件*", true), ("中文 文件夹", "件夹", false),
        ("e\u{301}te\u{301} 2024", "été", true), ("a \"quoted\" word", "\"quoted", true), ("x", " - ", false),
    ])
    func words(_ text: String, _ query: String, _ isFound: Bool) throws {
        let index = try index()
        defer { index.close() }
        let inode = try put(text, "a", index)
        let found = try index.inodes(with: query)
        #expect(found == (isFound ? [inode] : []))
    }

    @Test func oldTextsGoWhenTheyAreMost() throws {
        let index = try index()
        defer { index.close() }
        let inode = try put("first", "a", index)
        let stamp = try #require(try index.stamp(of: inode))
        for _ in 0..<300 { try index.put("again", of: inode, stamp) }
        let isNew = try index.clearIfMostlyOld()
        let (again, first) = (try index.inodes(with: "again"), try index.inodes(with: "first"))
        #expect(!isNew && again == [inode] && first == [])
        for _ in 0..<300 { try index.put("again", of: inode, stamp) }
        let isNewNow = try index.clearIfMostlyOld()
        let (count, left) = (try index.count(), try index.inodes(after: 0, limit: 9))
        #expect(isNewNow && count == 0 && left == [])
        let isNewAgain = try index.clearIfMostlyOld()
        let other = try put("new", "b", index)
        let (new, old) = (try index.inodes(with: "new"), try index.inodes(with: "again"))
        #expect(!isNewAgain && new == [other] && old == [])
    }

    @Test func anotherDomainsIsNotBelieved() throws {
        let index = try index()
        let inode = try put("secret", "a", index)
        index.close()
        let same = try self.index()
        let known = try same.inodes(with: "secret")
        #expect(known == [inode])
        same.close()
        let other = try TextIndex(path: test.directory + "/texts", domain: "other")
        defer { other.close() }
        let (found, count) = (try other.inodes(with: "secret"), try other.count())
        #expect(found == [] && count == 0)
    }
}

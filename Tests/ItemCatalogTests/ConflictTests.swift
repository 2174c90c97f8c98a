import FileProvider
import ItemCatalog
import Surroundings
import Testing
import Trees

@Suite struct ConflictTests {
    private let catalog: TestCatalog

    init() throws { catalog = try TestCatalog() }

    private func keepBoth(_ name: Filename, _ current: Item) throws -> Filename {
        let item = try catalog.item(name)
        return try catalog.catalog.write {
            try $0.keepBoth(item.id, current: current, defaults: catalog.defaults)
        }.orThrow("no copy was made")
    }

    @Test func theRemoteKeepsItsNameAndTheLocalBytesGetTheirOwn() throws {
        try catalog.list([remote("A", "a.txt", content: "v1")])
        let inode = try catalog.inode("a.txt").id
        try catalog.edit(inode, size: 44)
        let copy = try keepBoth("a.txt", remote("A", "a.txt", content: "v2", size: 22))
        #expect(copy.string.hasPrefix("a (conflicted copy, "))
        #expect(copy.string.hasSuffix(").txt"))
        #expect(try catalog.names() == [copy.string, "a.txt"].sorted())
        // Whoever has it open goes on with the same inode, now under the other name.
        #expect(try catalog.inode(copy).id == inode)
        #expect(try catalog.inode(copy).size == 44)
        #expect(try catalog.item(copy).identifier == nil)
        let shown = try catalog.inode("a.txt")
        #expect(shown.id != inode && shown.size == 22 && shown.extents == RangeSet())
        #expect(try catalog.item("a.txt").identifier == ItemIdentifier("A"))
        #expect(try catalog.item("a.txt").baseVersion == version("v2"))
        #expect(try catalog.pendingNames() == [copy.string])
    }

    @Test func aCollidingCreationIsRenamed() throws {
        try catalog.list([])
        let inode = try catalog.create("a")
        let copy = try keepBoth("a", remote("A", "a", size: 8))
        #expect(try catalog.inode(copy).id == inode.id)
        #expect(try catalog.inode("a").size == 8)
        #expect(try catalog.pendingNames() == [copy.string])
    }

    @Test func manyConflictsAreNumbered() throws {
        try catalog.list([remote("A", "a.txt", content: "v1")])
        var copies: Set<Filename> = []
        for number in 2...5 {
            try catalog.edit(try catalog.inode("a.txt").id)
            copies.insert(try keepBoth("a.txt", remote("A", "a.txt", content: "v\(number)")))
        }
        #expect(copies.count == 4)
        #expect(copies.contains { $0.string.hasSuffix(" 2).txt") })
        #expect(try catalog.names().count == 5)
    }

    @Test func aMoveThatFindsItsNameTakenGivesWay() throws {
        try catalog.list([remote("A", "a")])
        try catalog.rename("a", "b")
        let item = try catalog.item("b")
        try catalog.catalog.write {
            try $0.giveWay(item.id, to: remote("B", "b", size: 5), defaults: catalog.defaults)
        }
        #expect(try catalog.inode("b").size == 5)
        let other = try #require(try catalog.names().first { $0 != "b" })
        #expect(try catalog.item(Filename(other)).identifier == ItemIdentifier("A"))
        #expect(try catalog.pendingNames() == [other])
    }

    private let moment = FileTime(seconds: 1_750_000_000)

    @Test(arguments: [
        ("report.pdf", "report", ".pdf"), ("archive.tar.gz", "archive.tar", ".gz"), ("README", "README", ""),
        (".bashrc", ".bashrc", ""), ("a.b c", "a", ".b c"), ("x.", "x", "."),
    ])
    func theExtensionStaysAtTheEnd(name: String, stem: String, ending: String) {
        let made = ConflictName.make(from: Filename(name), at: moment, number: 1).string
        #expect(made.hasPrefix(stem + " (conflicted copy, "))
        #expect(made.hasSuffix(", 2025-06-15)" + ending))
    }

    @Test func aVeryLongExtensionIsNone() {
        let name = "a." + String(repeating: "x", count: 60)
        let made = ConflictName.make(from: Filename(name), at: moment, number: 3).string
        #expect(made.hasPrefix(name))
        #expect(made.hasSuffix(" 3)"))
    }

    @Test(arguments: ["a", "é", "漢", "🙂"], [200, 240, 250, 254, 255])
    func aLongNameIsCutBetweenCharacters(character: String, length: Int) {
        for ending in ["", ".txt", "." + String(repeating: "e", count: 31)] {
            for offset in 0..<4 {
                var stem = String(repeating: "-", count: offset)
                while stem.utf8.count + character.utf8.count + ending.utf8.count <= length { stem += character }
                let name = Filename(stem + ending)
                let made = ConflictName.make(from: name, at: moment, number: 12)
                #expect(made.bytes.count <= 255)
                #expect(made.problem == nil)
                #expect(String(validating: made.bytes, as: UTF8.self) != nil, "cut within a character")
                #expect(made != name)
                #expect(made.bytes.suffix(ending.utf8.count) == Array(ending.utf8)[...])
                #expect(made.bytes.count > 200, "more was cut than had to be")
            }
        }
    }

    @Test func aNameThatIsNotTextIsKeptAsItIs() {
        let name = Filename(bytes: [0xff, 0xfe, 0x2e, 0xff])
        let made = ConflictName.make(from: name, at: moment, number: 1)
        #expect(made.bytes.starts(with: [0xff, 0xfe, 0x20]))
        #expect(made.bytes.suffix(2) == [0x2e, 0xff])
    }
}

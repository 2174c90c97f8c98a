import FileProvider
import ItemCatalog
import Testing
import Trees

/// renameat2(2) with RENAME_EXCHANGE.
@Suite struct ExchangeTests {
    private let catalog: TestCatalog

    init() throws { catalog = try TestCatalog.unsettled() }

    enum Thing: String, CaseIterable {
        case unconfirmed, confirmed, excluded, folder, newFolder, excludedFolder, link, pipe
    }

    /// Makes it as `name` (excluded things with a tilde behind it).
    private func make(_ thing: Thing, _ name: String) throws -> (name: Filename, inode: InodeID) {
        let excluded = Filename(name + "~")
        let name = Filename(name)
        let identifier = name.string.uppercased()
        switch thing {
        case .unconfirmed: return (name, try catalog.create(name).id)
        case .confirmed: return (name, try catalog.document(name, identifier).id)
        case .excluded: return (excluded, try catalog.create(excluded).id)
        case .folder: return (name, try catalog.folder(name, identifier).id)
        case .newFolder: return (name, try catalog.create(name, kind: .folder).id)
        case .excludedFolder: return (excluded, try catalog.create(excluded, kind: .folder).id)
        case .link: return (name, try catalog.create(name, kind: .symbolicLink(target: [0x78])).id)
        case .pipe: return (name, try catalog.pipe(name).id)
        }
    }

    @Test(arguments: [
        // A new version of what the store has.
        (Thing.unconfirmed, Thing.confirmed, ["change B", "create a"]),
        (.confirmed, .unconfirmed, ["change A", "create b"]),
        (.confirmed, .excluded, ["change A"]),
        (.excluded, .confirmed, ["change B"]),
        // Moves.
        (.confirmed, .confirmed, ["move A b", "move B a"]),
        (.confirmed, .folder, ["move A b", "move B a"]),
        (.folder, .folder, ["move A b", "move B a"]),
        (.confirmed, .newFolder, ["create a", "move A b"]),
        (.folder, .unconfirmed, ["create a", "move A b"]),
        (.confirmed, .link, ["create a", "move A b"]),
        (.confirmed, .pipe, ["move A b"]),
        // What is new.
        (.unconfirmed, .unconfirmed, ["create a", "create b"]),
        (.unconfirmed, .newFolder, ["create a", "create b"]),
        (.unconfirmed, .pipe, ["create b"]),
        (.pipe, .pipe, []),
        // In and out of excluded names.
        (.unconfirmed, .excluded, ["create a"]),
        (.excluded, .excluded, []),
        (.excluded, .pipe, ["create b"]),
        (.excludedFolder, .excluded, []),
        (.excludedFolder, .unconfirmed, ["create b"]),
        (.folder, .excludedFolder, ["create a", "move A b~"]),
        (.newFolder, .excluded, ["create a", "create b~"]),
    ])
    func eachPair(first: Thing, second: Thing, expected: [String]) throws {
        let (a, one) = try make(first, "a")
        let (b, two) = try make(second, "b")
        let links = try catalog.inode(.root).linkCount
        try catalog.exchange(a, b)
        #expect(try catalog.names() == [a.string, b.string].sorted())
        #expect(try catalog.inode(a).id == two && catalog.inode(b).id == one)
        #expect(try catalog.inode(.root).linkCount == links)
        #expect(try catalog.outstanding() == expected)
        // An item of each, in its place, with the inode that has the name now.
        for (name, inode) in [(a, two), (b, one)] {
            guard let item = try catalog.item(of: inode) else {
                #expect(try catalog.inode(inode).kind == .pipe)
                continue
            }
            #expect(item.local == TreePlace(parent: .root, name: name))
        }
        // And back: there is nothing to tell of what moved.
        try catalog.exchange(a, b)
        #expect(try catalog.inode(a).id == one && catalog.inode(b).id == two)
        #expect(try catalog.outstanding().allSatisfy { !$0.hasPrefix("move") && !$0.hasPrefix("delete") })
    }

    @Test func aSaveNeedsAllBytes() throws {
        try catalog.list([remote("DOC", "doc", size: 10)])
        try catalog.create("new")
        try catalog.exchange("doc", "new")
        #expect(try catalog.outstanding() == ["create doc", "move DOC new"])
    }

    /// A save by exchange, and the old version deleted (what some editors do).
    @Test func aSave() throws {
        let old = try catalog.document("doc", "DOC")
        let fresh = try catalog.create("doc.new")
        try catalog.exchange("doc.new", "doc")
        try catalog.unlink("doc.new")
        #expect(try catalog.inode(old.id).linkCount == 0)
        #expect(try catalog.item("doc").inode == fresh.id)
        #expect(try catalog.outstanding() == ["change DOC"])
    }

    @Test func subfoldersAreCountedWhereTheyAre() throws {
        let (p, q) = (try catalog.folder("p", "P"), try catalog.folder("q", "Q"))
        try catalog.create("f", in: p.id, kind: .folder)
        try catalog.document("d", "D", in: q.id)
        #expect(try catalog.inode(p.id).linkCount == 3 && catalog.inode(q.id).linkCount == 2)
        try catalog.exchange("f", "d", from: p.id, to: q.id)
        #expect(try catalog.inode(p.id).linkCount == 2 && catalog.inode(q.id).linkCount == 3)
        #expect(try catalog.names(p.id) == ["f"] && catalog.names(q.id) == ["d"])
        // Two folders: as many as before.
        try catalog.create("g", in: p.id, kind: .folder)
        try catalog.exchange("g", "d", from: p.id, to: q.id)
        #expect(try catalog.inode(p.id).linkCount == 3 && catalog.inode(q.id).linkCount == 3)
        #expect(try catalog.inode(.root).linkCount == 4)
    }

    @Test func aFolderDoesNotGoIntoItself() throws {
        let outer = try catalog.folder("outer", "OUTER")
        let inner = try catalog.folder("inner", "INNER", in: outer.id)
        try catalog.create("x", in: inner.id)
        for (a, b, from, to) in [
            ("outer", "x", InodeID.root, inner.id), ("x", "outer", inner.id, .root),
            ("outer", "inner", .root, outer.id),
        ] as [(Filename, Filename, InodeID, InodeID)] {
            #expect(failure { try catalog.exchange(a, b, from: from, to: to) } == .intoItself)
        }
        #expect(failure { try catalog.exchange("outer", "none") } == .notFound)
        #expect(failure { try catalog.exchange("none", "outer") } == .notFound)
        #expect(try catalog.outstanding() == ["create x"])
    }

    @Test func twoNamesOfOneFileAreLeftAlone() throws {
        let inode = try catalog.document("a", "A")
        try catalog.link(inode.id, "b")
        try catalog.exchange("a", "b")
        try catalog.exchange("b", "a")
        #expect(try catalog.outstanding() == [])
        #expect(try catalog.inode(inode.id).linkCount == 2)
    }

    /// The file goes by its other name, and stays there.
    @Test func aSecondNameChangesPlacesWithADocument() throws {
        let first = try catalog.document("a", "A")
        try catalog.link(first.id, "second")
        let other = try catalog.document("b", "B")
        try catalog.exchange("second", "b")
        #expect(try catalog.outstanding() == ["move B second"])
        #expect(try catalog.places(first.id).sorted() == ["a", "b"])
        #expect(try catalog.item("second").inode == other.id)
        #expect(try catalog.item("a").local == TreePlace(parent: .root, name: "a"))
    }

    @Test func aConfirmedDocumentTakesAnExcludedFolderAlong() throws {
        let excluded = try catalog.create("cache~", kind: .folder)
        try catalog.create("x", in: excluded.id, kind: .symbolicLink(target: [0x78]))
        try catalog.document("doc", "DOC")
        #expect(try catalog.outstanding() == [])
        try catalog.exchange("doc", "x", to: excluded.id)
        #expect(try catalog.outstanding() == ["create cache~", "create doc", "move DOC x"])
    }
}

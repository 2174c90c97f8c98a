import FileProvider
import ItemCatalog
import Testing
import Trees

@Suite struct ExclusionTests {
    private let catalog: TestCatalog

    init() throws { catalog = try TestCatalog.unsettled() }

    // MARK: Names

    @Test(arguments: [
        "doc~", "~", ".doc~", "#doc#", "##", ".doc.txt.swp", ".doc.swo", ".swp", ".swx", ".#doc", ".~lock.doc.odt#",
        "~$report.docx", "~$", "~WRL0001.tmp", "~.tmp", ".goutputstream-A1B2C3", "lu1234abcd.tmp", ".fuse_hidden0001",
        ".nfs000001", ".Trash-1000", ".DS_Store", "Thumbs.db",
    ])
    func whatProgramsMakeForThemselvesIsExcluded(name: Filename) {
        #expect(Exclusions().match(name))
    }

    @Test(arguments: [
        "travel-journal", "a~b", "~home", "report.docx", "doc.swp", "swp", ".swift", ".sw", ".swap", "#1 hit", "C#",
        ".lock", "lock.doc#", "~lock", "lunch.tmp", "lute.tmp", "x.tmp", "goutputstream-1", ".goutputstream", ".Trash",
        "DS_Store", "thumbs.db", ".nf", "doc.bak", "doc.orig", "a-wal", "a-journal", "$~x", "*", "?",
    ])
    func whatPeopleMakeIsNot(name: Filename) {
        #expect(!Exclusions().match(name))
    }

    @Test func namesAreBytes() {
        #expect(Exclusions().match(Filename(bytes: [0xff, 0xfe, 0x7e])))
        #expect(!Exclusions().match(Filename(bytes: [0xff, 0xfe])))
        #expect(Exclusions(patterns: ["*.o"]).match("a.o"))
        #expect(!Exclusions(patterns: []).match("doc~"))
    }

    // MARK: Renamed

    @Test func aNewDocumentIsJudgedByEachName() throws {
        let inode = try catalog.create("a")
        #expect(try catalog.outstanding() == ["create a"])
        try catalog.rename("a", "a~")
        #expect(try catalog.item("a~").isExcluded)
        #expect(try catalog.outstanding() == [])
        try catalog.edit(inode.id)
        #expect(try catalog.outstanding() == [])
        try catalog.rename("a~", "b")
        #expect(try catalog.item("b").contentRevision > 0)
        #expect(try catalog.outstanding() == ["create b"])
    }

    @Test func aNewLinkAsWell() throws {
        try catalog.create("l~", kind: .symbolicLink(target: [0x78]))
        #expect(try catalog.outstanding() == [])
        try catalog.rename("l~", "l")
        #expect(try catalog.outstanding() == ["create l"])
    }

    @Test func whatTheStoreHasStaysItsBusiness() throws {
        let inode = try catalog.document("a", "A")
        try catalog.rename("a", "a~")
        #expect(try catalog.item("a~").isExcluded == false)
        try catalog.edit(inode.id)
        #expect(try catalog.outstanding() == ["change A", "move A a~"])
        try catalog.unlink("a~")
        #expect(try catalog.outstanding() == ["delete A"])
    }

    @Test func whatTheStoreCallsSoIsShown() throws {
        try catalog.list([remote("A", "a~"), remote("F", ".nfs1000", kind: .folder)])
        #expect(try catalog.names() == [".nfs1000", "a~"])
        #expect(try catalog.item("a~").isExcluded == false)
        let folder = try catalog.inode(".nfs1000").id
        try catalog.list([], in: folder)
        try catalog.create("x", in: folder)
        try catalog.edit(catalog.inode("a~").id)
        #expect(try catalog.outstanding() == ["change A", "create x"])
    }

    /// A name is excluded when something is made with it: a folder that is in use already stays.
    @Test func aNewFolderThatWasNotExcludedStaysSo() throws {
        let folder = try catalog.create("f", kind: .folder)
        try catalog.create("x", in: folder.id)
        try catalog.rename("f", "f~")
        #expect(try catalog.outstanding() == ["create f~", "create x"])
    }

    /// Another machine's trash is no item here, whoever tells of it.
    @Test func anotherMachinesTrashIsNotShown() throws {
        let trash = remote("T", ".Trash-1000", kind: .folder)
        let result = try catalog.list([remote("A", "a"), trash])
        #expect(result.refused.map(\.name) == [".Trash-1000"])
        try catalog.catalog.write { writer in
            _ = try writer.mergeChanges(
                updated: [trash, remote("B", "b")], deleted: [], defaults: catalog.defaults)
        }
        #expect(try catalog.names() == ["a", "b"])
    }

    // MARK: Excluded folders

    private func excludedTree() throws -> (top: InodeID, sub: InodeID) {
        let top = try catalog.create("f~", kind: .folder).id
        let sub = try catalog.create("sub", in: top, kind: .folder).id
        try catalog.create("x", in: top)
        try catalog.create("z~", in: top)
        try catalog.create("y", in: sub)
        try catalog.create("deep~", in: sub, kind: .folder)
        #expect(try catalog.outstanding() == [])
        return (top, sub)
    }

    @Test func aTreeThatIsExcludedNoMoreIsSent() throws {
        _ = try excludedTree()
        try catalog.rename("f~", "f")
        #expect(try catalog.outstanding() == ["create f", "create sub", "create x", "create y"])
    }

    @Test func aDocumentOutOfItIsSent() throws {
        let (top, sub) = try excludedTree()
        try catalog.rename("y", "y", from: sub)
        try catalog.rename("z~", "z", from: top)
        #expect(try catalog.outstanding() == ["create y", "create z"])
    }

    @Test func aNewDocumentIntoItIsNotSent() throws {
        let (_, sub) = try excludedTree()
        try catalog.create("n")
        try catalog.rename("n", "n", to: sub)
        #expect(try catalog.outstanding() == [])
        #expect(try catalog.item("n", in: sub).isExcluded)
    }

    /// The store must have the folders to have the document in.
    @Test func whatTheStoreHasTakesItAlong() throws {
        let (_, sub) = try excludedTree()
        try catalog.document("a", "A")
        try catalog.rename("a", "a", to: sub)
        // What else is in them stays here.
        #expect(try catalog.outstanding() == ["create f~", "create sub", "move A a"])
        #expect(try catalog.item("x", in: catalog.inode("f~").id).isExcluded)
    }

    @Test func aFolderTakesItAlongToo() throws {
        let (_, sub) = try excludedTree()
        try catalog.create("new", kind: .folder)
        try catalog.rename("new", "new", to: sub)
        #expect(try catalog.outstanding() == ["create f~", "create new", "create sub"])
    }

    /// Its upload was under way when it got the name.
    @Test func whatReachedTheStoreMeanwhileIsNotExcluded() throws {
        let (_, sub) = try excludedTree()
        for (index, folder) in [InodeID.root, sub].enumerated() {
            let name = Filename("late \(index)")
            try catalog.create(name)
            let sent = try catalog.item(name)
            let excluded: Filename = index == 0 ? "late~" : name
            try catalog.rename(name, excluded, to: folder)
            #expect(try catalog.item(excluded, in: folder).isExcluded)
            _ = try catalog.catalog.write {
                try $0.confirmCreation(
                    sent.id, as: remote("LATE\(index)", name), contentRevision: sent.contentRevision,
                    metadataRevision: 0)
            }
            #expect(try catalog.item(excluded, in: folder).isExcluded == false)
        }
        #expect(
            try catalog.outstanding() == ["create f~", "create sub", "move LATE0 late~", "move LATE1 late 1"])
    }

    /// Whatever happens to it, what the store has is never left out of what it is told.
    @Test(arguments: 0..<20)
    func nothingThatTheStoreHasIsEverExcluded(seed: Int) throws {
        var generator = SystemRandomNumberGenerator()
        let names: [Filename] = ["a", "b~", "c.bak", "#d#"]
        var folders = [InodeID.root, try catalog.create("f~", kind: .folder).id, try catalog.folder("g", "G").id]
        folders.append(try catalog.create("h", in: folders[1], kind: .folder).id)
        for number in 0..<120 {
            let (from, to) = (folders.randomElement(using: &generator)!, folders.randomElement(using: &generator)!)
            let (name, other) = (names.randomElement(using: &generator)!, names.randomElement(using: &generator)!)
            _ = failure {
                switch Int.random(in: 0..<8, using: &generator) {
                case 0, 1: try catalog.create(name, in: from)
                case 2, 3: try catalog.rename(name, other, from: from, to: to)
                case 4: try catalog.exchange(name, other, from: from, to: to)
                case 5: try catalog.unlink(name, in: from)
                case 6: try catalog.link(catalog.inode(name, in: from).id, other, in: to)
                default:
                    let item = try catalog.item(name, in: from)
                    let parent = try item.local.flatMap { place in
                        try catalog.catalog.read { try $0.item(place.parent) }
                    }
                    if item.identifier == nil, !item.isExcluded, parent?.identifier != nil, let inode = item.inode {
                        try catalog.confirm(inode, as: "N\(number)")
                    }
                }
            }
            for folder in folders {
                for name in try catalog.names(folder) {
                    let inode = try catalog.inode(Filename(name), in: folder)
                    guard let item = try catalog.item(of: inode.id) else { continue }
                    let parent = try item.local.flatMap { place in
                        try catalog.catalog.read { try $0.item(place.parent) }
                    }
                    if item.identifier != nil {
                        #expect(!item.isExcluded, "\(name)")
                        #expect(parent?.isExcluded == false, "the folder of \(name)")
                    } else if !item.kind.isFolder, item.local?.name == Filename(name) {
                        let isExcluded = Exclusions().match(Filename(name)) || parent?.isExcluded == true
                        if isExcluded { #expect(item.isExcluded, "\(name)") }
                    }
                }
            }
        }
    }
}

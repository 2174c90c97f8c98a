import FileProvider
import ItemCatalog
import Testing
import Trees

/// What a provider may ask of the catalog: the store as it last was, whatever was done here since.
@Suite struct KnownTests {
    private let catalog: TestCatalog

    init() throws {
        catalog = try TestCatalog()
        try catalog.list([remote("A", "a", size: 3), remote("B", "b", content: "v7"), remote("F", "f", kind: .folder)])
        let folder = try catalog.inode("f").id
        try catalog.list([remote("C", "c", content: "v7", in: "F")], in: folder)
    }

    private func document(_ identifier: String, _ name: Filename, _ parent: String?, _ size: Int64, _ content: String)
        -> KnownItem
    {
        KnownItem(
            identifier: ItemIdentifier(identifier),
            parentIdentifier: parent.map { ItemIdentifier($0) } ?? .rootContainer, filename: name, isFolder: false,
            size: size, contentVersion: ContentVersion(content), metadataVersion: MetadataVersion("m1"))
    }

    @Test func oneByItsIdentifier() throws {
        #expect(try catalog.catalog.read { try $0.knownItem(ItemIdentifier("A")) } == document("A", "a", nil, 3, "v1"))
        #expect(try catalog.catalog.read { try $0.knownItem(ItemIdentifier("C")) } == document("C", "c", "F", 10, "v7"))
        #expect(try catalog.catalog.read { try $0.knownItem(ItemIdentifier("F")) }?.isFolder == true)
        #expect(try catalog.catalog.read { try $0.knownItem(ItemIdentifier("X")) } == nil)
    }

    @Test func whereTheStoreHasItNotWhereItIsHere() throws {
        _ = try catalog.rename("a", "renamed")
        #expect(try catalog.catalog.read { try $0.knownItem(ItemIdentifier("A")) }?.filename == "a")
    }

    @Test func whatIsInAFolder() throws {
        let items = try catalog.catalog.read { try $0.knownItems(in: .rootContainer) }
        #expect(Set(items.map(\.identifier.rawValue)) == ["A", "B", "F"])
        #expect(
            try catalog.catalog.read { try $0.knownItems(in: ItemIdentifier("F")) } == [
                document("C", "c", "F", 10, "v7")
            ])
        #expect(try catalog.catalog.read { try $0.knownItems(in: ItemIdentifier("X")) } == [])
    }

    @Test func documentsByTheirContents() throws {
        let items = try catalog.catalog.read { try $0.knownDocuments(having: [ContentVersion("v7")]) }
        #expect(Set(items.map(\.identifier.rawValue)) == ["B", "C"])
        #expect(try catalog.catalog.read { try $0.knownDocuments(having: []) } == [])
    }
}

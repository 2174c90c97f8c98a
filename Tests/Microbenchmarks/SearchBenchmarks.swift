import FileProvider
import Foundation
import ItemCatalog
import ItemSearch
import QueryLanguage
import Trees

/// Queries over a catalog with this many documents, a thousand in a folder.
func searchBenchmarks(_ folder: String, items: Int) async throws -> [Benchmark] {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let catalog = try Catalog(path: folder + "/catalog", domain: "bench:", owner: (1_000, 1_000))
    let names = try NameIndex(path: folder + "/names", catalog: catalog) { FoldedText.fold(bytes: $0) }
    try fill(catalog, items)
    while try names.grow() {}
    @Sendable func count(_ text: String) async throws -> Int {
        var search = ItemSearch(try QueryPredicate(text: text), catalog: catalog, names: names)
        var found = 0
        try await search.gather { items in
            found += items.count
            return true
        }
        return found
    }
    // (Of a million: 1, 1,000 and some hundred documents.)
    let last = items - 1
    let queries = [
        ("a name's part, one result", "\"unique \(last).\""), ("a name's part, one folder's results", "\"folder 7 \""),
        ("size and date", "size:>970M modified:<5d"), ("a type", "kind:image"),
        ("a part of every name", "folder kind:folder"),
        ("two letters", "qq"), ("what is to be uploaded", "state:uploading"),
    ]
    var benchmarks: [Benchmark] = []
    for (name, text) in queries {
        let found = try await count(text)
        benchmarks.append(
            Benchmark(name: "search of \(items): \(name) (\(found))", count: 1) { _ in _ = try await count(text) })
    }
    return benchmarks
}

private func fill(_ catalog: Catalog, _ items: Int) throws {
    let defaults = PlaceholderDefaults(uid: 1_000, gid: 1_000, documentMode: 0o644, folderMode: 0o755)
    let kinds = ["txt", "pdf", "jpg", "odt", "md", "png", "xlsx", "zip"]
    let folders = (0..<(items + 999) / 1_000).map { number in
        item("f\(number)", "folder \(number)", in: .rootContainer, kind: .folder)
    }
    _ = try catalog.write { try $0.mergeListing(of: .root, folders, defaults: defaults) }
    for (number, folder) in folders.enumerated() {
        let inode = try catalog.read { try $0.child(of: .root, named: folder.filename)!.id }
        var documents: [Item] = []
        for document in number * 1_000..<min(items, (number + 1) * 1_000) {
            let name = "a document of folder \(number) unique \(document).\(kinds[document % kinds.count])"
            let size = Int64(document * 7_919 % 1_000_000) * 1_024
            let age = Int64(document * 104_729 % 1_000) * 86_400
            documents.append(item("d\(document)", name, in: folder.identifier, size: size, age: age))
        }
        _ = try catalog.write { try $0.mergeListing(of: inode, documents, defaults: defaults) }
    }
}

private func item(
    _ identifier: String, _ name: String, in parent: ItemIdentifier, kind: ItemKind = .document, size: Int64 = 0,
    age: Int64 = 0
) -> Item {
    Item(
        identifier: ItemIdentifier(identifier), parentIdentifier: parent, filename: Filename(name), kind: kind,
        size: size, contentModificationDate: FileTime(seconds: FileTime.now.seconds - age),
        version: ItemVersion(content: ContentVersion("v"), metadata: MetadataVersion("m")))
}

import FileProvider
import Foundation
import ItemCatalog
import ItemSearch
import QueryLanguage
import Trees

/// A catalog with an index of its names, in a folder of its own.
final class SearchedCatalog {
    let directory: String
    let catalog: Catalog
    private(set) var names: NameIndex
    let defaults = PlaceholderDefaults(uid: 1_000, gid: 2_000, documentMode: 0o640, folderMode: 0o750)

    init() throws {
        directory = NSTemporaryDirectory() + "search-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        catalog = try Catalog(
            path: directory + "/catalog", domain: "test:", owner: (1_000, 2_000),
            hold: DeletionHold(percent: 100))
        names = try NameIndex(path: directory + "/names", catalog: catalog) { FoldedText.fold(bytes: $0) }
    }

    deinit {
        names.close()
        catalog.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    func reopenNames() throws {
        names.close()
        names = try NameIndex(path: directory + "/names", catalog: catalog) { FoldedText.fold(bytes: $0) }
    }

    func grow() throws { while try names.grow() {} }

    func list(_ items: [Item], in folder: InodeID = .root) throws {
        try catalog.write { writer in
            let missing = try writer.mergeListing(of: folder, items, defaults: defaults).missing
            try writer.mergeDeletions(of: missing, defaults: defaults)
        }
    }

    @discardableResult
    func create(_ name: Filename, in folder: InodeID = .root, kind: ItemKind = .document) throws -> InodeID {
        try catalog.write { writer in
            let inode = try writer.create(
                NewFile(kind: kind, mode: 0o644, uid: 1_000, gid: 2_000), in: folder, named: name, settle: 0)
            try writer.endWriting(inode.id, settle: 0, defaults: defaults)
            return inode.id
        }
    }

    func edit(_ inode: InodeID, size: Int64) throws {
        try catalog.write { writer in
            let record = try writer.inode(inode)
            try writer.beginWriting(inode, generation: record.generation, mark: .modified)
            try writer.recordWritten(inode, size: size, modified: .now, mark: .modified, settle: 0)
            try writer.endWriting(inode, settle: 0, defaults: defaults)
        }
    }

    func rename(
        _ name: Filename, _ newName: Filename, from folder: InodeID = .root, to newFolder: InodeID = .root
    ) throws {
        _ = try catalog.write {
            try $0.rename(name, in: folder, to: newName, in: newFolder, noReplace: false, settle: 0)
        }
    }

    func unlink(_ name: Filename, in folder: InodeID = .root) throws {
        _ = try catalog.write { try $0.unlink(name, in: folder, settle: 0) }
    }

    func inode(_ path: String) throws -> InodeID {
        try catalog.read { try $0.resolve(path.split(separator: "/").map { Filename(String($0)) }).id }
    }

    /// The paths that a query finds, in order.
    func find(_ text: String, in scopes: [String]? = nil, withIndex: Bool = true) async throws -> [String] {
        try await find(QueryPredicate(text: text), in: scopes, withIndex: withIndex)
    }

    func find(_ predicate: QueryPredicate, in scopes: [String]? = nil, withIndex: Bool = true) async throws -> [String]
    {
        let scopes = try scopes.map { Set(try $0.map { try inode($0) }) }
        var search = ItemSearch(predicate, catalog: catalog, names: withIndex ? names : nil, scopes: scopes)
        var paths: [String] = []
        try await search.gather { items in
            paths += items.map { String(decoding: $0.facts.path, as: UTF8.self) }
            return true
        }
        return paths.sorted()
    }
}

func document(
    _ path: String, size: Int64 = 10, modified: Int64 = 1_000, kind: ItemKind = .document,
    in parent: String = ItemIdentifier.rootContainer.rawValue
) -> Item {
    Item(
        identifier: ItemIdentifier("id:" + path), parentIdentifier: ItemIdentifier(parent),
        filename: Filename(String(path.split(separator: "/").last!)), kind: kind,
        size: kind.isDocument ? size : 0, contentModificationDate: FileTime(seconds: modified),
        version: ItemVersion(content: ContentVersion("v"), metadata: MetadataVersion("m")))
}

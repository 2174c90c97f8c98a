import FileProvider
import Foundation
import ItemCatalog
import Trees

/// A catalog in a folder of its own, and what tests say about it.
final class TestCatalog {
    let directory: String
    let catalog: Catalog
    /// Seconds until what programs do here may be sent.
    var settle = 0.0
    let defaults = PlaceholderDefaults(uid: 1_000, gid: 2_000, documentMode: 0o640, folderMode: 0o750)
    /// Later than any moment at which a change becomes ready.
    static let later = FileTime(nanoseconds: .max - 1)

    init() throws {
        directory = NSTemporaryDirectory() + "catalog-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        catalog = try Catalog(path: directory + "/catalog", domain: "test:", owner: (1_000, 2_000))
    }

    deinit {
        catalog.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    // MARK: The provider's side

    @discardableResult
    func list(_ items: [Item], in folder: InodeID = .root) throws -> MergeResult {
        try catalog.write { try $0.mergeListing(of: folder, items, defaults: defaults) }
    }

    /// What the kernel would have to forget because of a listing.
    func changes(listing items: [Item], in folder: InodeID = .root) throws -> [CatalogChange] {
        try catalog.write { writer in
            _ = try writer.mergeListing(of: folder, items, defaults: defaults)
            return writer.changes
        }
    }

    // MARK: Programs

    @discardableResult
    func create(_ name: Filename, in folder: InodeID = .root, kind: ItemKind = .document) throws -> InodeRecord {
        let mode: UInt32 = kind.isFolder ? 0o755 : 0o644
        return try catalog.write { writer in
            let inode = try writer.create(
                NewFile(kind: kind, mode: mode, uid: 1_000, gid: 2_000), in: folder, named: name, settle: settle)
            try writer.endWriting(inode.id, settle: settle, defaults: defaults)
            return try writer.inode(inode.id)
        }
    }

    /// A program writes to a document and closes it.
    func edit(_ inode: InodeID, size: Int64 = 99) throws {
        try catalog.write { writer in
            let record = try writer.inode(inode)
            try writer.beginWriting(inode, generation: record.generation, mark: .modified)
            try writer.recordWritten(inode, size: size, modified: .now, mark: .modified, settle: settle)
            try writer.endWriting(inode, settle: settle, defaults: defaults)
        }
    }

    @discardableResult
    func rename(
        _ name: Filename, _ newName: Filename, from folder: InodeID = .root, to newFolder: InodeID = .root,
        noReplace: Bool = false
    ) throws -> RenameResult {
        try catalog.write {
            try $0.rename(name, in: folder, to: newName, in: newFolder, noReplace: noReplace, settle: settle)
        }
    }

    @discardableResult
    func unlink(_ name: Filename, in folder: InodeID = .root) throws -> InodeRecord {
        try catalog.write { try $0.unlink(name, in: folder, settle: settle) }
    }

    /// The provider confirms that it made what is pending here.
    func confirm(_ inode: InodeID, as identifier: String, content: String = "v1") throws {
        try catalog.write { writer in
            let row = try writer.item(of: inode)!
            let parent = try writer.item(row.local!.parent)!.identifier!
            let created = Item(
                identifier: ItemIdentifier(identifier), parentIdentifier: parent, filename: row.local!.name,
                kind: row.kind, contentModificationDate: FileTime(seconds: 7),
                version: version(content))
            try writer.confirmCreation(
                row.id, as: created, contentRevision: row.contentRevision, metadataRevision: row.metadataRevision)
        }
    }

    // MARK: Looking

    func names(_ folder: InodeID = .root) throws -> [String] {
        try catalog.read { try $0.children(of: folder, after: 0, limit: 1_000) }.map(\.name.string).sorted()
    }

    func inode(_ name: Filename, in folder: InodeID = .root) throws -> InodeRecord {
        try catalog.read { try $0.child(of: folder, named: name) }.orThrow("no \(name)")
    }

    func inode(_ id: InodeID) throws -> InodeRecord { try catalog.read { try $0.inode(id) } }

    func item(_ name: Filename, in folder: InodeID = .root) throws -> ItemRecord {
        let inode = try inode(name, in: folder)
        return try catalog.read { try $0.item(of: inode.id) }.orThrow("\(name) has no item")
    }

    func item(identified identifier: String) throws -> ItemRecord? {
        try catalog.read { try $0.item(identifiedBy: ItemIdentifier(identifier)) }
    }

    func pending() throws -> [PendingItem] {
        try catalog.read { try $0.pending(at: TestCatalog.later, limit: 1_000) }
    }

    /// The names of the items that are pending.
    func pendingNames() throws -> [String] {
        try catalog.read { try $0.allPending(limit: 1_000) }
            .map { ($0.local ?? $0.remote ?? $0.base)?.name.string ?? "?" }.sorted()
    }
}

func version(_ content: String, _ metadata: String = "m1") -> ItemVersion {
    ItemVersion(content: ContentVersion(content), metadata: MetadataVersion(metadata))
}

/// An item as a provider lists it.
func remote(
    _ identifier: String, _ name: Filename, content: String = "v1", metadata: String = "m1", size: Int64 = 10,
    kind: ItemKind = .document, in parent: String = ItemIdentifier.rootContainer.rawValue,
    mode: UInt16? = nil
) -> Item {
    Item(
        identifier: ItemIdentifier(identifier), parentIdentifier: ItemIdentifier(parent), filename: name, kind: kind,
        size: kind.isDocument ? size : 0, contentModificationDate: FileTime(seconds: 1_000), posixPermissions: mode,
        version: version(content, metadata))
}

/// The code of the error that `body` throws; nil when it throws none.
func failure(of body: () throws -> Void) -> CatalogError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? CatalogError)?.code
    }
}

struct Missing: Error, CustomStringConvertible { var description: String }

extension Optional {
    func orThrow(_ what: String) throws -> Wrapped {
        guard let self else { throw Missing(description: what) }
        return self
    }
}

import FileProvider
import Foundation
import ItemCatalog
import SyncEngine
import Trees

/// Copies of items to be uploaded: one folder for each claim, which is removed with the claim.
struct SnapshotFolder: Sendable {
    private let engine: SyncEngine
    let path: String

    init(_ path: String, engine: SyncEngine) {
        self.path = path
        self.engine = engine
    }

    private var catalog: Catalog { engine.mount.catalog }

    /// Copies each document as it is at one moment, and downloads it first if necessary. Leaves out excluded items,
    /// which are never uploaded.
    ///
    /// - Returns: the path of the copy, which has the item's name.
    func copy(_ inode: InodeRecord, called name: String, number: Int) async throws -> String {
        let folder = "\(path)/\(number)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let target = folder + "/" + name
        try await copy(inode, to: target)
        return target
    }

    private func copy(_ inode: InodeRecord, to path: String) async throws {
        switch inode.kind {
        case .document: try await engine.copy(inode.id, to: path)
        case .folder: try await copyFolder(inode.id, to: path)
        case .link:
            try FileManager.default.createSymbolicLink(
                atPath: path, withDestinationPath: String(decoding: inode.target ?? [], as: UTF8.self))
        default: break
        }
    }

    private func copyFolder(_ folder: InodeID, to path: String) async throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        if try !catalog.read({ try $0.inode(folder).isEnumerated }) { try await engine.enumerate(folder) }
        var cookie: Int64 = 0
        while true {
            let entries = try catalog.read { try $0.children(of: folder, after: cookie, limit: 200) }
            guard let last = entries.last else { return }
            cookie = last.cookie
            for entry in entries where try !isExcluded(entry.inode.id) {
                try await copy(entry.inode, to: path + "/" + entry.name.string)
            }
        }
    }

    private func isExcluded(_ inode: InodeID) throws -> Bool {
        try catalog.read { try $0.item(of: inode)?.isExcluded ?? false }
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}

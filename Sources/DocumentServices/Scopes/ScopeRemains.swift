import FileProvider
import Glibc
import ItemCatalog
import Logging
import Surroundings
import SyncEngine
import Trees
import Volume

/// Removes the files that programs left beside the item of a scoped folder. Never removes an uploaded item or the only
/// complete version of a document.
struct ScopeRemains {
    private let volume: Volume
    private let kernel: any KernelNotifying

    init(volume: Volume, kernel: any KernelNotifying) {
        self.volume = volume
        self.kernel = kernel
    }

    private var catalog: Catalog { volume.engine.mount.catalog }

    private static let oldMark = Exclusions.scopedPrefix + Array("old-".utf8)

    /// The name for a document's old contents while new ones are written; contains the document's name.
    static func oldName(of name: Filename, _ token: String) -> Filename {
        Filename(bytes: Array((oldMark + Array("\(token)-".utf8) + name.bytes).prefix(255)))
    }

    /// The document's name in such a name; may be truncated.
    private static func original(of name: Filename) -> Filename? {
        guard name.bytes.starts(with: oldMark) else { return nil }
        let rest = name.bytes.dropFirst(oldMark.count).split(separator: UInt8(ascii: "-"), maxSplits: 2)
        return rest.count == 3 ? Filename(bytes: rest[2]) : nil
    }

    /// Removes the files of scopes that ended with a killed daemon.
    ///
    /// - Returns: whether all of them were removed.
    func removeAll() -> Bool {
        do { return remove(try catalog.read { try $0.names(beginningWith: Exclusions.scopedPrefix) }) } catch {
            volume.engine.mount.logger.error(
                "leftover files of scoped folders cannot be listed", metadata: ["error": "\(error)"])
            return false
        }
    }

    @discardableResult
    func remove(_ names: [(folder: InodeID, name: Filename)]) -> Bool {
        var isClean = true
        for (folder, name) in names {
            do { try remove(name, in: folder) } catch {
                isClean = false
                volume.engine.mount.logger.error(
                    "a leftover file of a scoped folder cannot be removed",
                    metadata: ["name": "\(name)", "error": "\(error)"])
            }
        }
        return isClean
    }

    private func remove(_ name: Filename, in folder: InodeID) throws {
        guard let record = try catalog.read({ try $0.child(of: folder, named: name) }) else { return }
        let parent = volume.reference(try catalog.read { try $0.inode(folder) }).node
        defer { volume.forget(parent, count: 1) }
        if let original = Self.original(of: name), record.kind == .document {
            return try keep(name, of: original, in: folder, parent)
        }
        try remove(record, name, in: parent)
    }

    /// The new contents are incomplete: renames the old contents, so that the user finds them.
    private func keep(_ name: Filename, of original: Filename, in folder: InodeID, _ parent: NodeID) throws {
        var number = 1
        while true {
            let kept = ConflictName.make(from: original, at: .now, number: number)
            number += 1
            if try catalog.read({ try $0.child(of: folder, named: kept) }) != nil { continue }
            try ScopeCopy.now(volume.rename(name, in: parent, to: kept, in: parent, noReplace: true))
            kernel.invalidateEntry(in: parent, name: name)
            kernel.invalidateEntry(in: parent, name: kept)
            volume.engine.mount.logger.warning(
                "a program was cut off while it saved a document; its earlier contents are kept",
                metadata: ["document": "\(original)", "kept": "\(kept)"])
            return
        }
    }

    private func remove(_ record: InodeRecord, _ name: Filename, in parent: NodeID) throws {
        if let item = try catalog.read({ try $0.item(of: record.id) }), item.identifier != nil || item.base != nil,
            item.local?.name == name
        {
            throw VolumeError(EBUSY, "the store has it under this name; move it away")
        }
        guard record.isFolder else {
            try ScopeCopy.now(volume.unlink(name, in: parent))
            return kernel.invalidateEntry(in: parent, name: name)
        }
        let node = volume.reference(record).node
        defer { volume.forget(node, count: 1) }
        while true {
            let children = try volume.entries(of: node, after: 0, limit: 100)
            if children.isEmpty { break }
            for child in children { try remove(child.inode, child.name, in: node) }
        }
        try ScopeCopy.now(volume.removeFolder(name, in: parent))
        kernel.invalidateEntry(in: parent, name: name)
    }
}

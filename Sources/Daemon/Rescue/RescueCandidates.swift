import ContentStore
import FileProvider
import Foundation
import ItemCatalog
import Trees

/// One file of content that may exist only here.
struct RescueCandidate {
    var id: GenerationID?
    /// The path of the local file.
    var source: String
    /// The file's own label, updated from the catalog if the catalog is readable.
    var label: ContentLabel
    /// Neither a label nor the catalog has a name for the file.
    var isNameless = false
}

/// Finds the files to rescue in a state directory by their labels, and by the catalog if it is readable.
struct RescueCandidates {
    let inventory: ContentInventory
    let catalogPath: String

    /// - Parameter all: whether to include unmodified files too, under names of their own.
    /// - Returns: the candidates in the order of their paths, and the reason why the catalog could not be used.
    func find(all: Bool) -> (candidates: [RescueCandidate], problem: String?) {
        var byCatalog: [GenerationID: ContentLabel] = [:]
        var problem: String?
        do { byCatalog = try readCatalog() } catch { problem = "\(error)" }
        var found: [RescueCandidate] = []
        for entry in inventory.entries() where inventory.status(of: entry.path) != nil {
            let known = entry.isLost ? nil : entry.id.flatMap { byCatalog[$0] }
            if var label = inventory.label(of: entry.path) ?? known {
                if let known {
                    // Folders above the document may have been renamed since it was labelled.
                    (label.path, label.extents) = (known.path, known.extents)
                    (label.modified, label.mode) = (known.modified, known.mode)
                }
                found.append(RescueCandidate(id: entry.id, source: entry.path, label: label))
            } else if all, let id = entry.id, isWhole(entry.path) {
                let path = Array("\(ContentInventory.lostAndFound)/\(id)".utf8)
                found.append(
                    RescueCandidate(
                        id: id, source: entry.path, label: ContentLabel(path: path, mode: 0o600), isNameless: true))
            }
        }
        found.sort { $0.label.path.lexicographicallyPrecedes($1.label.path) }
        return (found, problem)
    }

    /// Without the catalog, only a hole shows that bytes are missing; nothing tells their position.
    private func isWhole(_ path: String) -> Bool {
        guard let status = inventory.status(of: path), status.size > 0 else { return false }
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return lseek(descriptor, 0, 4) >= status.size  // SEEK_HOLE, lseek(2)
    }

    // MARK: The catalog

    private func readCatalog() throws -> [GenerationID: ContentLabel] {
        let folder = try TemporaryFolder()
        let catalog = try Catalog.copy(of: catalogPath, to: folder.path, isInUse: false)
        defer { catalog.close() }
        var labels: [GenerationID: ContentLabel] = [:]
        try catalog.read { reader in
            for inode in try reader.documentsOnlyHere() {
                guard let facts = try reader.labelFacts(of: inode.id) else { continue }
                let id = GenerationID(inode: inode.id.rawValue, number: inode.generation)
                guard facts.isOnlyHere || isChanged(inode, id), let names = try reader.path(of: inode.id) else {
                    continue
                }
                labels[id] = ContentLabel(
                    path: Array(names.map(\.bytes).joined(separator: [UInt8(ascii: "/")])),
                    identifier: facts.identifier?.rawValue, base: facts.base?.bytes, modified: modified(inode, id),
                    mode: inode.mode,
                    extents: inode.extents.map { LabelledExtents(baseSize: inode.baseSize, ranges: Array($0.ranges)) })
            }
        }
        return labels
    }

    /// A program was writing when the daemon ended: the file shows whether the program changed it.
    private func isChanged(_ inode: InodeRecord, _ id: GenerationID) -> Bool {
        guard let now = inventory.status(of: inventory.path(of: id)) else { return false }
        switch inode.writing {
        case nil: return false
        case .modified: return true
        case .maybeModified(let stamp):
            if stamp == .none { return false }
            return stamp.size != now.size || stamp.modified.nanoseconds != now.modified
        }
    }

    /// For a file that a program was writing, the file's own modification date is later than the catalog's.
    private func modified(_ inode: InodeRecord, _ id: GenerationID) -> Int128? {
        isChanged(inode, id) ? nil : inode.modified.wideNanoseconds
    }
}

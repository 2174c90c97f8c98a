import ContentStore
import FileProvider
import Foundation
import ItemCatalog
import Trees

/// One file of content that may be nowhere but here.
struct RescueCandidate {
    var id: GenerationID?
    /// Its local file.
    var source: String
    /// What is known of it: its own label, put right by the catalog where that can be read.
    var label: ContentLabel
    /// Nothing says what it was called.
    var isNameless = false
}

/// Finds what is to be rescued in a state directory: by the labels, and by the catalog if it can be read.
struct RescueCandidates {
    let inventory: ContentInventory
    let catalogPath: String

    /// - Parameter all: files that nothing says to be modified as well, under names of their own.
    /// - Returns: in the order of their paths; and why the catalog could not be used, if so.
    func find(all: Bool) -> (candidates: [RescueCandidate], problem: String?) {
        var byCatalog: [GenerationID: ContentLabel] = [:]
        var problem: String?
        do { byCatalog = try readCatalog() } catch { problem = "\(error)" }
        var found: [RescueCandidate] = []
        for entry in inventory.entries() where inventory.status(of: entry.path) != nil {
            let known = entry.isLost ? nil : entry.id.flatMap { byCatalog[$0] }
            if var label = inventory.label(of: entry.path) ?? known {
                if let known {
                    // Folders above it may have been renamed since it was labelled.
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

    /// Without the catalog only holes tell that something is missing; of those nothing is known.
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

    /// A writer was at work when the daemon ended: the file tells whether he wrote.
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

    /// Of one that was being written the file's own date is the later one.
    private func modified(_ inode: InodeRecord, _ id: GenerationID) -> Int128? {
        isChanged(inode, id) ? nil : inode.modified.wideNanoseconds
    }
}

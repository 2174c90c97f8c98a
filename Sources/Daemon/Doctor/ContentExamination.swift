import ContentStore
import FileProvider
import Foundation
import ItemCatalog
import Trees

/// Compares the content store's files with the catalog. Copies in `uploads` are no problem: interrupted uploads leave
/// them, and the next mount removes them.
struct ContentExamination {
    let catalog: Catalog
    let inventory: ContentInventory

    /// - Returns: the problems; lost bytes first.
    func run() throws -> [DoctorProblem] {
        // Read the files before the rows: a file that a daemon creates meanwhile has its row already.
        let entries = inventory.entries().filter { !$0.isLost }
        var current: [Int64: Int64] = [:]
        var problems: [DoctorProblem] = []
        try catalog.read { reader in
            current = Dictionary(uniqueKeysWithValues: try reader.generations().map { ($0.rawValue, $1) })
            try reader.forEachDocument { inode, isOnlyHere in
                if let problem = try examine(inode, isOnlyHere: isOnlyHere, reader) { problems.append(problem) }
            }
        }
        for entry in entries where inventory.status(of: entry.path) != nil {
            guard let id = entry.id else {
                problems.append(
                    DoctorProblem(
                        place: entry.path, what: "is not a file of the content store", meaning: "Hydrant never reads it"
                    ))
                continue
            }
            if current[id.inode] != id.number {
                problems.append(
                    DoctorProblem(
                        place: entry.path, what: "the catalog does not know this file",
                        meaning: inventory.label(of: entry.path) == nil
                            ? "it takes up space" : "it holds changes that never reached the store; see hydrant rescue",
                        repair: .putAside(entry.path)))
            }
        }
        return problems
    }

    private func examine(_ inode: InodeRecord, isOnlyHere: Bool, _ reader: Catalog.Reader) throws -> DoctorProblem? {
        let hasBytes =
            inode.extents.map { !$0.isEmpty || inode.size > inode.baseSize } ?? (inode.size > 0)
        guard hasBytes else { return nil }
        let id = GenerationID(inode: inode.id.rawValue, number: inode.generation)
        let path = inventory.path(of: id)
        let isOurs = isOnlyHere || inode.writing != nil
        guard let status = inventory.status(of: path) else {
            let shown = try reader.shown(inode.id)
            return isOurs
                ? DoctorProblem(
                    isLoss: true, place: shown, what: "its file \(path) is missing",
                    meaning: "changes that never reached the store are gone; look for a copy of the file in a backup")
                : DoctorProblem(
                    place: shown, what: "its file \(path) is missing",
                    meaning: "the catalog says that it is downloaded", repair: .evict(inode.id, nil))
        }
        // The catalog learns the size of a file that a program is writing when the program closes it.
        guard status.size != inode.size, inode.writing == nil else { return nil }
        return DoctorProblem(
            isLoss: isOnlyHere && status.size < inode.size, place: try reader.shown(inode.id),
            what: "its file \(path) has \(status.size) bytes, the catalog says \(inode.size)",
            meaning: isOnlyHere
                ? "some of its changes are gone, or were never recorded; copy the file before you open the document again"
                : "programs would read other bytes than the store has",
            repair: isOnlyHere ? nil : .evict(inode.id, path))
    }
}

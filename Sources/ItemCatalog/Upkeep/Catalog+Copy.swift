import Foundation
import GRDB
package import Trees

/// Read-only catalogs: `hydrant rescue` and `hydrant doctor` work on copies.
extension Catalog {
    /// Copies the catalog at `path` into `folder` and opens the copy; the original is not changed.
    ///
    /// - Parameter isInUse: a daemon is writing the catalog: SQLite's backup makes the copy, which is the committed
    ///   state of one moment (sqlite.org/backup.html). Otherwise the files are copied as they are, damaged or not.
    package static func copy(of path: String, to folder: String, isInUse: Bool) throws(CatalogError) -> Catalog {
        let target = folder + "/catalog.sqlite"
        guard FileManager.default.fileExists(atPath: path) else {
            throw CatalogError(.notFound, "\(path): there is no catalog")
        }
        do {
            if isInUse {
                var configuration = Configuration()
                configuration.readonly = true
                let source = try DatabaseQueue(path: path, configuration: configuration)
                defer { try? source.close() }
                let copy = try DatabaseQueue(path: target)
                try source.backup(to: copy)
                try copy.close()
            } else {
                // Without -shm: SQLite rebuilds that file from the write-ahead log.
                for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
                    try FileManager.default.copyItem(atPath: path + suffix, toPath: target + suffix)
                }
            }
        } catch {
            throw Catalog.translate(error, path: path)
        }
        return try Catalog(existing: target)
    }
}

import Foundation
import ItemCatalog
import Trees

/// Checks before the mount of a store that is a local folder. Other stores need none.
struct StoreFolder {
    let path: String

    /// Nil: the location is no path, or the path does not exist.
    init?(_ location: StoreLocation) {
        guard location.kind == .path, access(location.path, F_OK) == 0 else { return nil }
        path = location.path
    }

    /// Throws if the directory is empty but had documents at the last mount: its disk is not mounted. An empty folder
    /// does not mean that all documents were deleted.
    func checkIsKnown(to catalog: Catalog) throws(DaemonError) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return }
        let now = "\(status.st_dev):\(status.st_ino)"
        do {
            let before = try catalog.read { try $0.note("root of the store") }
            let isEmpty = (try? FileManager.default.contentsOfDirectory(atPath: path).isEmpty) ?? false
            if let before, before != now, isEmpty, try catalog.read({ try $0.hasConfirmedItems() }) {
                throw DaemonError(
                    "\(path): is empty, and not the directory of the last mount; is its disk mounted? If the documents "
                        + "are really gone, mount with another --state-dir")
            }
            try catalog.write { try $0.takeNote("root of the store", now) }
        } catch {
            throw (error as? DaemonError) ?? DaemonError("\(error)")
        }
    }

    /// A mount that contains its own store, or lies in it, would wait for itself.
    func checkApart(from mountPoint: String) throws(DaemonError) {
        if Self.contains(path, mountPoint) {
            throw DaemonError("\(mountPoint): lies inside the store \(path); choose a mount point outside it")
        }
        if Self.contains(mountPoint, path) {
            throw DaemonError(
                "\(mountPoint): contains the store \(path), which would be hidden; choose another mount point")
        }
    }

    static func contains(_ outer: String, _ inner: String) -> Bool {
        inner == outer || inner.hasPrefix(outer == "/" ? "/" : outer + "/")
    }
}

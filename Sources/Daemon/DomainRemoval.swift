import Foundation
import ItemCatalog

/// Takes away all that this machine has of a domain that is not mounted.
package struct DomainRemoval {
    /// Nil: there is nothing.
    private let state: StateDirectory?
    /// Changes that the store does not have.
    package let pending: Int

    /// Refuses while a daemon has the domain.
    package init(domain: String) throws(DaemonError) {
        let path = try StateDirectory.defaultPath(domain: domain)
        var status = stat()
        guard lstat(path, &status) == 0 else {
            (state, pending) = (nil, 0)
            return
        }
        let state = try StateDirectory(existing: path)
        self.state = state
        do {
            let catalog = try Catalog(existing: state.catalogPath)
            defer { catalog.close() }
            pending = try catalog.read { try $0.pendingForPeople(limit: 10_000).count }
        } catch {
            throw DaemonError(
                "\(path): what is pending cannot be told (\(error)); hydrant rescue brings out what was changed, then remove the "
                    + "folder by hand")
        }
    }

    /// By the daemon itself, at its end: of what is pending nothing is needed any more.
    init(of state: StateDirectory) {
        self.state = state
        pending = 0
    }

    /// The documents among what is pending; as `hydrant rescue`.
    package func putAside(in folder: String) throws(DaemonError) {
        if let state { try Self.putAside(state, in: folder) }
    }

    static func putAside(_ state: StateDirectory, in folder: String) throws(DaemonError) {
        do {
            let above = (folder as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(
                atPath: above, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw DaemonError("\(folder): cannot be made: \(error.localizedDescription); nothing was removed") }
        let report = try Rescue(of: state, target: folder).run(dryRun: false)
        if let failed = report.failed.first {
            throw DaemonError("\(failed.path): cannot be put aside: \(failed.failure ?? ""); nothing was removed")
        }
    }

    package func run() throws(DaemonError) {
        guard let state else { return }
        do { try FileManager.default.removeItem(atPath: state.path) } catch {
            throw DaemonError("\(state.path): cannot be removed: \(error.localizedDescription)")
        }
    }
}

import DocumentServices
import Foundation
import ItemCatalog
import Trees

/// Removes everything that this machine has of an unmounted domain, except what its bookmarks need (``KeptFiles``).
package struct DomainRemoval {
    private let path: String
    /// Nil: there is nothing, or only what the domain's bookmarks need.
    private let state: StateDirectory?
    /// The number of changes that the store does not have.
    package let pending: Int

    /// Fails while a daemon has the domain.
    package init(domain: String) throws(DaemonError) {
        path = try StateDirectory.defaultPath(domain: domain)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        if KeptFiles.names.isSuperset(of: names) {
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
                "\(path): the pending changes cannot be listed (\(error)); copy the changed documents out with hydrant rescue, then "
                    + "remove the folder by hand")
        }
    }

    /// For the daemon itself, at its end: no pending change is needed any more.
    init(of state: StateDirectory) {
        self.state = state
        path = state.path
        pending = 0
    }

    /// Copies the documents among the pending changes, as `hydrant rescue` does.
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

    /// Saves where bookmarks lead, for the next catalog. If that fails, the bookmarks must lead nowhere rather than to
    /// another item.
    private func rememberPlaces(_ state: StateDirectory) {
        let book = path + "/" + KeptFiles.identifiers
        do {
            let catalog = try Catalog(existing: state.catalogPath)
            defer { catalog.close() }
            try IdentifierBook(keptAt: book).refresh(from: catalog)
        } catch { unlink(book) }
    }

    /// - Parameter forgets: whether the domain is not to come back: then its bookmarks and grants go as well.
    package func run(forgets: Bool = false) throws(DaemonError) {
        do {
            if let state, !forgets { rememberPlaces(state) }
            // Remove the pictures that the domain has put into the user's cache of thumbnails.
            ThumbnailLedger(stateDirectory: path).removeAll(from: try? ThumbnailCache())
            guard forgets || state != nil else { return }
            let manager = FileManager.default
            let names = (try? manager.contentsOfDirectory(atPath: path)) ?? []
            for name in names where !KeptFiles.names.contains(name) {
                try manager.removeItem(atPath: path + "/" + name)
            }
            let hasBookmarks = !forgets && !KeptFiles.names.subtracting(["lock"]).isDisjoint(with: names)
            if !hasBookmarks, !names.isEmpty { try manager.removeItem(atPath: path) }
        } catch let error as DaemonError { throw error } catch {
            throw DaemonError("\(path): cannot be removed: \(error.localizedDescription)")
        }
    }
}

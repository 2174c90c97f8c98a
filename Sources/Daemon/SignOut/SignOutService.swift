import ControlAPI
import DocumentServices
import FileProvider
import Foundation
import ItemCatalog
import Logging
import SyncEngine
import Synchronization
import Trees
import Volume

/// Signs the user out while the domain is mounted. Nothing is found or opened from then on; what no program uses goes at
/// once, and the rest when the last program has let go of it: then the mount, which its user has detached, ends, and the
/// daemon with it.
final class SignOutService: Sendable {
    private struct State {
        /// Where documents go that the store does not have; nil: nobody has signed out.
        var folder: String?
        /// Which of them are there, and with which changes.
        var putAside: [ItemID: Int64] = [:]
    }
    private let volume: Volume
    /// Puts documents that the store does not have into a folder.
    private let rescue: @Sendable (_ folder: String) throws(DaemonError) -> Void
    private let scopes: ScopedFolders
    private let logger: Logger
    private let state = Mutex(State())

    private var context: SyncContext { volume.engine.context }

    init(
        volume: Volume, scopes: ScopedFolders, logger: Logger,
        rescue: @escaping @Sendable (_ folder: String) throws(DaemonError) -> Void
    ) {
        self.volume = volume
        self.rescue = rescue
        self.scopes = scopes
        self.logger = logger
    }

    /// - Returns: how many changes were put aside.
    func signOut(_ request: SignOutRequest) async throws -> Int {
        volume.endWritingNow()
        let pending = try context.catalog.read { try $0.pendingForPeople(limit: 10_000) }.count
        guard pending == 0 || request.force else {
            throw ControlFailure(
                code: ControlFailure.pending,
                message: "\(pending) changes are not in the store yet; nothing was removed")
        }
        await volume.engine.mask()
        do { if pending > 0 { try await putAside(in: request.folder) } } catch {
            await volume.engine.unmask()
            throw error
        }
        state.withLock { $0.folder = request.folder }
        logger.info("signed out", metadata: ["pending": "\(pending)"])
        await scopes.endAll()
        await context.client.signOut()
        try await onWorkers { [self] in try removeUnused() }
        return pending
    }

    /// While the catalog is open, at the daemon's end: what programs have written since is put aside as well.
    ///
    /// - Returns: whether all that the domain has here may go.
    func isOver() -> Bool {
        guard let folder = state.withLock({ $0.folder }) else { return false }
        do {
            if try changes() != state.withLock({ $0.putAside }) { try putAsideNow(in: Self.free(folder)) }
            return true
        } catch {
            logger.error(
                "what was changed after the sign-out cannot be put aside, and stays: hydrant rescue brings it out",
                metadata: ["error": "\(error)"])
            return false
        }
    }

    private func putAside(in folder: String) async throws {
        try await onWorkers { [self] in try putAsideNow(in: folder) }
    }

    private func putAsideNow(in folder: String) throws {
        let changes = try changes()
        do { try rescue(folder) } catch {
            throw ControlFailure(code: "putAside", message: error.message)
        }
        state.withLock { $0.putAside = changes }
    }

    private func changes() throws -> [ItemID: Int64] {
        let rows = try context.catalog.read { try $0.pendingForPeople(limit: 1_000_000) }
        return Dictionary(rows.map { ($0.id, $0.contentRevision) }) { $1 }
    }

    /// A folder of that name, with a number where it is not empty.
    private static func free(_ folder: String) -> String {
        for number in 2..<1_000 {
            let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
            if names?.isEmpty ?? true { return folder }
            let other = "\(folder)-\(number)"
            if !FileManager.default.fileExists(atPath: other) { return other }
        }
        return folder
    }

    /// The bytes of all that no program has open.
    private func removeUnused() throws {
        try context.catalog.write { try $0.unpinAll() }
        var last: EvictionCandidate?
        while true {
            let batch = try context.catalog.read { try $0.evictionCandidates(after: last, limit: 100) }
            guard !batch.isEmpty else { return }
            last = batch.last
            // (What is open goes with its last close.)
            for document in batch { _ = try? volume.engine.evict(document.inode) }
        }
    }

    private func onWorkers<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await Task(executorPreference: context.workers) { try body() }.value
    }
}

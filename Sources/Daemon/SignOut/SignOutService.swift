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

/// Signs the user out while the domain is mounted. From then on nothing can be found or opened. Content that no program
/// has open is removed at once, the rest when the last program closes it. Then the mount, which its user has detached,
/// ends, and so does the daemon.
final class SignOutService: Sendable {
    private struct State {
        /// The folder for documents that the store does not have; nil: the user has not signed out.
        var folder: String?
        /// The items in that folder, with the revisions of their content.
        var putAside: [ItemID: Int64] = [:]
    }
    private let volume: Volume
    /// Copies documents that the store does not have into a folder.
    private let rescue: @Sendable (_ folder: String) throws(DaemonError) -> Void
    private let scopes: ScopedFolders
    private let logger: Logger
    private let state = Mutex(State())

    private var mount: MountState { volume.engine.mount }

    init(
        volume: Volume, scopes: ScopedFolders, logger: Logger,
        rescue: @escaping @Sendable (_ folder: String) throws(DaemonError) -> Void
    ) {
        self.volume = volume
        self.rescue = rescue
        self.scopes = scopes
        self.logger = logger
    }

    /// - Returns: the number of changes that were put aside.
    func signOut(_ request: SignOutRequest) async throws -> Int {
        volume.endWritingNow()
        let pending = try mount.catalog.write { try $0.pendingForPeople(limit: 10_000) }.count
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
        await volume.engine.client.signOut()
        try await onWorkers { [self] in try removeUnused() }
        return pending
    }

    /// Call this at the daemon's end, while the catalog is open. Also puts aside what programs have written since the
    /// sign-out.
    ///
    /// - Returns: whether all local data of the domain may be removed.
    func isOver() -> Bool {
        guard let folder = state.withLock({ $0.folder }) else { return false }
        do {
            if try changes() != state.withLock({ $0.putAside }) { try putAsideNow(in: Self.free(folder)) }
            return true
        } catch {
            logger.error(
                "documents changed after the sign-out cannot be put aside, and stay; hydrant rescue copies them out",
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
        // (A transaction fails where a close cannot be recorded; then nothing may be removed.)
        let rows = try mount.catalog.write { try $0.pendingForPeople(limit: 1_000_000) }
        return Dictionary(rows.map { ($0.id, $0.contentRevision) }) { $1 }
    }

    /// The folder, or with a number appended if it is not empty.
    private static func free(_ folder: String) -> String {
        for number in 2..<1_000 {
            let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
            if names?.isEmpty ?? true { return folder }
            let other = "\(folder)-\(number)"
            if !FileManager.default.fileExists(atPath: other) { return other }
        }
        return folder
    }

    /// Evicts all documents that no program has open.
    private func removeUnused() throws {
        try mount.catalog.write { try $0.unpinAll() }
        var last: EvictionCandidate?
        while true {
            let batch = try mount.catalog.read { try $0.evictionCandidates(after: last, limit: 100) }
            guard !batch.isEmpty else { return }
            last = batch.last
            // (An open document is removed when the last program closes it.)
            for document in batch { _ = try? volume.engine.evict(document.inode) }
        }
    }

    private func onWorkers<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await Task(executorPreference: mount.workers) { try body() }.value
    }
}

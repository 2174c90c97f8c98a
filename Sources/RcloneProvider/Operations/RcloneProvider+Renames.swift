import FileProvider
import Foundation
import Logging
import Synchronization

/// Renames that leave alone what has the new name, and versions that were moved aside.
extension RcloneProvider {
    /// - Returns: false when something has the new name, or has come under it before rclone looked.
    /// - Throws: ``FileProviderError/Code/noSuchItem`` when the document is gone.
    func rename(_ from: String, _ to: String) async throws(FileProviderError) -> Bool {
        var parameters = try await self.parameters(from, to: to)
        parameters._config = .moving
        // (Without a turn among the transfers: in the middle of a swap, the document has no name.)
        try await client.call("operations/movefile", parameters, on: from, takes: .anyTime)
        if try await traits().ignoresCase, from.lowercased() == to.lowercased() { return try await isListed(to) }
        // rclone calls it success when it has left both documents where they were.
        return try await entry(from) == nil
    }

    /// A call that transfers or copies one document, and whether it did: what exists is left alone without an error.
    func counted(
        _ name: String, _ parameters: RcloneParameters, on path: String
    ) async throws(FileProviderError) -> Bool {
        let group = "hydrant/" + UUID().uuidString
        var parameters = parameters
        parameters._group = group
        let failure: FileProviderError?
        do throws(FileProviderError) {
            try await client.call(name, parameters, on: path, takes: .aTransfer)
            failure = nil
        } catch { failure = error }
        var question = RcloneParameters()
        question.group = group
        // (After a failure too: rclone keeps the figures otherwise.)
        let stats = try? await client.call("core/stats", question, on: path, as: RcloneStats.self)
        _ = try? await client.call("core/stats-delete", question, on: path)
        if let failure { throw failure }
        guard let stats else {
            throw FileProviderError(.serverUnreachable, "\(client.describe(path)): rclone has ended meanwhile")
        }
        return (stats.transfers ?? 0) + (stats.serverSideCopies ?? 0) > 0
    }

    /// Gives a version that was moved aside its name back, if the one who moved it seems to be gone.
    ///
    /// - Returns: whether it has its name again.
    func restore(_ folder: String, _ aside: String, _ original: String) async -> Bool {
        guard orphans.isAbandoned(folder + aside, of: folder + original, hasName: false) else { return false }
        guard (try? await rename(folder + aside, folder + original)) ?? false else { return false }
        logger.warning("rclone: a document that a change had moved aside has its name back")
        return true
    }

    /// Deletes a version that was moved aside, if its document has long been there again: the one who moved it was cut off
    /// before the last step. It would become the document when that is deleted.
    func clear(_ folder: String, _ aside: String, _ original: String) async {
        guard orphans.isAbandoned(folder + aside, of: folder + original, hasName: true) else { return }
        _ = try? await delete(folder + aside)
    }

    /// What swaps that were cut off have left of a document that is to be moved or deleted: it would come back as the
    /// document. Where there is nothing else, it gets the name.
    ///
    /// Look at the document after this: only then is what this returns not the only version.
    func leftovers(of path: String) async throws(FileProviderError) -> [String] {
        guard try await traits().swaps else { return [] }
        if try await settled(path) == nil { try await restoreAll(of: path) }
        return try await asides(of: path)
    }

    /// As ``restore(_:_:_:)``, for a document that is to be changed and is not there: an attempt to change it was
    /// cut off.
    func restoreAll(of path: String) async throws(FileProviderError) {
        guard try await traits().swaps else { return }
        for aside in try await asides(of: path) where try await rename(aside, path) { return }
    }

    /// The paths of versions of a document that are aside.
    func asides(of path: String) async throws(FileProviderError) -> [String] {
        let folder = RclonePath.folder(of: path)
        let name = RclonePath.name(of: path)
        return (try await list(folder, isQuick: true) ?? []).filter { entry in
            ReservedName.original(ofAside: entry.Name)?.utf8.elementsEqual(name.utf8) ?? false
        }.map { folder + $0.Name }
    }
}

/// Names whose document may be aside for a moment.
final class Orphans: Sendable {
    private struct State {
        var patience = Duration.seconds(20)
        var busy: [String: Int] = [:]
        /// By the path of the version that is aside.
        var seen: [String: Seen] = [:]
    }
    private struct Seen {
        let since: ContinuousClock.Instant
        let hasName: Bool
    }
    private let state = Mutex(State())

    /// How long a document must have been without its name: a swap takes some calls.
    var patience: Duration {
        get { state.withLock { $0.patience } }
        set { state.withLock { $0.patience = newValue } }
    }
    /// How long a look waits for a swap to end.
    static let settling = Duration.seconds(5)
    private static let most = 1_000

    func begin(_ path: String) { state.withLock { $0.busy[path, default: 0] += 1 } }

    func end(_ path: String) {
        state.withLock { state in
            let count = (state.busy[path] ?? 0) - 1
            state.busy[path] = count > 0 ? count : nil
        }
    }

    /// Whether a version was seen aside a while ago, with its document's name free, or taken, all the time, and is not
    /// being swapped by this mount.
    ///
    /// - Parameter aside: each swap has another one.
    func isAbandoned(_ aside: String, of path: String, hasName: Bool) -> Bool {
        state.withLock { state in
            guard state.busy[path] == nil else {
                state.seen[aside] = nil
                return false
            }
            let now = ContinuousClock.now
            guard let first = state.seen[aside], first.hasName == hasName else {
                if state.seen.count >= Self.most { state.seen = [:] }
                state.seen[aside] = Seen(since: now, hasName: hasName)
                return false
            }
            guard first.since.duration(to: now) >= state.patience else { return false }
            state.seen[aside] = nil
            return true
        }
    }
}

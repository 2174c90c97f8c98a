import ControlAPI
import Foundation

/// One request to a domain's daemon.
enum DomainConnection {
    private static let patience = 30.0

    /// - Throws: ``CoordinationError``.
    static func ask(_ mountPoint: String, _ request: ControlRequest) async throws -> ControlResponse {
        guard let client = FileCoordinator.client(of: mountPoint) else {
            throw CoordinationError(.notRunning, "\(mountPoint): its daemon cannot be reached")
        }
        let answer: ControlResponse
        do { answer = try await client.send(request, timeout: patience) } catch {
            throw HeldClaim.error(error, mountPoint)
        }
        if case .failure(let failure) = answer { throw CoordinationError(.init(answer: failure.code), failure.message) }
        return answer
    }

    struct Found: Sendable {
        var mountPoint: String
        var answer: ResolvedBookmark
    }

    /// Asks all mounted domains concurrently for the one that made the bookmark, so that a hanging daemon delays
    /// nobody.
    static func find(_ bookmark: Bookmark) async throws -> Found {
        let mounts = MountTable.ownDomains().map(\.mountPoint)
        let kept = BookmarkPayload(unchecked: bookmark.data)
        return try await withThrowingTaskGroup(of: Result<Found, CoordinationError>.self) { group in
            for mountPoint in Set(mounts) {
                group.addTask {
                    do {
                        guard case .resolved(let answer) = try await ask(mountPoint, .resolveBookmark(bookmark.data))
                        else {
                            return .failure(
                                CoordinationError(
                                    .refused,
                                    "\(mountPoint): unexpected answer from the daemon; unmount and mount again"))
                        }
                        return .success(Found(mountPoint: mountPoint, answer: answer))
                    } catch { return .failure(HeldClaim.error(error, mountPoint)) }
                }
            }
            defer { group.cancelAll() }
            var silent: CoordinationError?
            var other: CoordinationError?
            for try await result in group {
                switch result {
                case .success(let found): return found
                // Another domain made the bookmark.
                case .failure(let error) where error.code == .notMine: continue
                case .failure(let error) where error.code == .otherKey: other = error
                case .failure(let error) where error.code == .notRunning || error.code == .cancelled: silent = error
                case .failure(let error): throw error
                }
            }
            guard let kept else {
                throw CoordinationError(.badBookmark, "this is not a bookmark of hydrant's, or only a part of one")
            }
            if let silent, Task.isCancelled { throw silent }
            if let other { throw CoordinationError(.notInADomain, other.message) }
            throw CoordinationError(
                .notInADomain,
                "the bookmark's domain, \(kept.domain), is not mounted; mount it"
                    + (silent.map { " (\($0.message))" } ?? ""))
        }
    }
}

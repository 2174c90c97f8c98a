import ControlAPI
import FileCoordination
import Foundation

/// A picker's requests to a domain's daemon.
struct DomainClient: Sendable {
    let mountPoint: String
    private let client: ControlClient
    private static let patience = 60.0

    init(_ mountPoint: String) throws {
        self.mountPoint = mountPoint
        client = ControlClient(socketPath: try SocketDirectory.socketPath(mountPoint: mountPoint))
    }

    private func ask(_ request: ControlRequest) async throws -> ControlResponse {
        let answer = try await client.send(request, timeout: Self.patience)
        if case .failure(let failure) = answer { throw DocumentPickerError(failure.message) }
        return answer
    }

    private static let unexpected = DocumentPickerError(
        "unexpected answer from the daemon; unmount and mount again")

    func status(_ paths: [PathBytes]) async throws -> [ItemStatus] {
        guard case .items(let items) = try await ask(.status(paths: paths)) else { throw Self.unexpected }
        return items
    }

    func locate(_ path: PathBytes) async throws -> ItemStatus {
        guard case .items(let items) = try await ask(.locate(path: path)), let item = items.first else {
            throw Self.unexpected
        }
        return item
    }

    func domain() async throws -> DomainStatus {
        guard case .domain(let status, _) = try await ask(.domain) else { throw Self.unexpected }
        return status
    }

    /// Sends a change now, without its settle time.
    func send(_ path: PathBytes) async { _ = try? await ask(.retry(paths: [path], timeoutSeconds: 30)) }

    func keepImport(_ folder: String) async throws { _ = try await ask(.keepImport(folder: folder)) }

    /// The right of a bookmark, with the item's present path; nil: the bookmark has none, or another domain made it.
    func grant(of bookmark: Bookmark) async throws -> GrantStatus? {
        guard BookmarkPayload(unchecked: bookmark.data)?.grant != nil,
            case .resolved(let found) = try await ask(.resolveBookmark(bookmark.data))
        else { return nil }
        return found.grant
    }

    /// Revokes the right of a bookmark.
    func revoke(_ bookmark: Bookmark) async {
        guard let grant = BookmarkPayload(unchecked: bookmark.data)?.grant else { return }
        _ = try? await ask(.revokeGrant(id: grant.uuidString))
    }

    func cancelFetch(_ path: PathBytes) async { _ = try? await ask(.cancelFetch(path: path)) }

    /// Downloads a document, and returns when it is here. If this task is cancelled, the download goes on.
    func fetch(_ path: PathBytes, progress: @Sendable (Int64, Int64) async -> Void) async throws {
        let answer = try await client.follow(.fetch(path: path)) { news in
            if case .progress(let now) = news { await progress(now.bytes, now.bytesTotal) }
        }
        switch answer {
        case .outcomes(let outcomes):
            if let error = outcomes.first?.error { throw DocumentPickerError(error) }
        case .failure(let failure): throw DocumentPickerError(failure.message)
        default: throw Self.unexpected
        }
    }
}

import ControlAPI
import FileCoordination
import Foundation

/// A document in a folder of its own, for as long as a program has it.
final class HeldScope: Sendable {
    /// The document's place for the program.
    let url: URL
    private let scoped: SecurityScopedURL
    private let mountPoint: String

    /// Makes a right for this one use, which is not recorded.
    init(_ place: DocumentPlace, _ access: SecurityScope.Access) async throws {
        guard let mountPoint = place.mountPoint else {
            throw DocumentInteractionError(
                .failed,
                "\(place.shown): in no mounted domain, so there is no right to it; open it by its path")
        }
        do {
            let bookmark = try await Bookmark.make(of: ByteText.url(place.path), scope: SecurityScope(access))
            self.mountPoint = mountPoint
            guard let scoped = try await bookmark.resolve().scopedURL else {
                throw DocumentInteractionError(.failed, "\(place.shown): the daemon gives no right to it")
            }
            self.scoped = scoped
            do { url = try await scoped.startAccessing() } catch {
                await Self.revoke(bookmark, mountPoint)
                throw error
            }
        } catch let error as CoordinationError {
            throw DocumentInteractionError(.failed, error.message)
        }
    }

    /// Removes the document from the scoped folder.
    func end() async {
        await scoped.stopAccessing()
        await Self.revoke(scoped.bookmark, mountPoint)
    }

    private static func revoke(_ bookmark: Bookmark, _ mountPoint: String) async {
        guard let grant = BookmarkPayload(unchecked: bookmark.data)?.grant,
            let path = try? SocketDirectory.socketPath(mountPoint: mountPoint)
        else { return }
        _ = try? await ControlClient(socketPath: path).send(.revokeGrant(id: grant.uuidString), timeout: 60)
    }
}

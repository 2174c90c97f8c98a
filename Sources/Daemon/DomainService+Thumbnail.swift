import ControlAPI
import FileProvider
import Foundation
import ItemCatalog
import SyncEngine
import Volume

/// Pictures of documents that need not be here.
extension DomainService {
    /// In bytes; larger ones are no thumbnails, and would not fit into an answer.
    private static let largest = 8 << 20

    func thumbnail(of path: PathBytes, size: Int) async throws -> DocumentThumbnail {
        let shown = mountPoint + (path.bytes.isEmpty ? "" : "/" + path.string)
        func refusal(_ why: String) -> ControlFailure { ControlFailure(code: "thumbnail", message: "\(shown): \(why)") }

        let (record, item) = try volume.inspect(try await resolve(path).id)
        guard record.kind == .document else { throw refusal("is not a document") }
        guard let item, let identifier = item.identifier, let version = item.baseVersion?.content,
            item.contentRevision == 0, record.writing != .modified
        else { throw refusal("has changes that are not in the store yet; run hydrant sync first") }
        let engine = volume.engine
        let maker = engine.context.provider as? any ThumbnailProviding
        let picture: Thumbnail?
        do {
            let made = try await maker?.thumbnail(of: identifier, version: version, size: size)
            picture = made ?? engine.thumbnails.thumbnail(of: identifier, version)
        } catch {
            throw refusal(error.message)
        }
        guard let picture, !picture.bytes.isEmpty else {
            throw refusal(maker == nil ? "its provider makes no thumbnails" : "there is no thumbnail of it")
        }
        guard picture.bytes.count <= Self.largest else {
            throw refusal("the provider's thumbnail has \(picture.bytes.count) bytes; report it to its author")
        }
        return DocumentThumbnail(
            picture: Data(picture.bytes),
            uri: "file://" + DocumentURL.encode(Array(mountPoint.utf8) + [UInt8(ascii: "/")] + path.bytes),
            modified: record.modified.seconds)
    }
}

import ControlAPI
import FileProvider
import Foundation
import ItemCatalog
import Pictures
import SyncEngine
import Volume

/// Pictures of documents that need not be here.
extension DomainService {
    /// In bytes; larger ones are no thumbnails, and would not fit into an answer.
    private static let largest = 8 << 20

    private func refusal(_ path: PathBytes, _ why: String) -> ControlFailure {
        ControlFailure(
            code: "thumbnail", message: "\(mountPoint + (path.bytes.isEmpty ? "" : "/" + path.string)): \(why)")
    }

    func thumbnail(of path: PathBytes, size: Int) async throws -> DocumentThumbnail {
        let (record, item) = try volume.inspect(try await resolve(path).id)
        guard record.kind == .document else { throw refusal(path, "is not a document") }
        guard let item, let identifier = item.identifier, let version = item.baseVersion?.content,
            item.contentRevision == 0, record.writing != .modified
        else { throw refusal(path, "has changes that are not in the store yet; run hydrant sync first") }
        let engine = volume.engine
        let maker = engine.context.provider as? any ThumbnailProviding
        let picture: Thumbnail?
        do {
            let made = try await maker?.thumbnail(of: identifier, version: version, size: size)
            picture = made ?? engine.thumbnails.thumbnail(of: identifier, version)
        } catch {
            throw refusal(path, error.message)
        }
        guard let picture, !picture.bytes.isEmpty else {
            throw refusal(path, maker == nil ? "its provider makes no thumbnails" : "there is no thumbnail of it")
        }
        guard picture.bytes.count <= Self.largest else {
            throw refusal(path, "the provider's thumbnail has \(picture.bytes.count) bytes; report it to its author")
        }
        return DocumentThumbnail(
            picture: Data(picture.bytes),
            uri: "file://" + DocumentURL.encode(Array(mountPoint.utf8) + [UInt8(ascii: "/")] + path.bytes),
            modified: record.modified.seconds)
    }

    /// A program gives the document that it has saved its picture.
    ///
    /// - Returns: where it is kept, once it survives a restart.
    func giveThumbnail(_ picture: Data, to path: PathBytes, of contents: SavedContents?) async throws -> GivenThumbnail {
        // (What its writer has closed is recorded first.)
        volume.endWritingNow()
        let (record, item) = try volume.inspect(try await resolve(path).id)
        guard record.kind == .document else { throw refusal(path, "is not a document") }
        guard let item else { throw refusal(path, "is another name of a document, which stays on this machine") }
        if volume.engine.context.isReadOnly { throw refusal(path, "is mounted read-only") }
        guard let raster = Raster(picture, mostPixels: GivenThumbnail.pixels), PNGPicture(picture) != nil else {
            throw refusal(
                path,
                "the picture is no whole PNG of at most \(GivenThumbnail.pixels) × \(GivenThumbnail.pixels) pixels")
        }
        _ = raster
        if let contents, contents != SavedContents(size: record.size, modified: record.modified.nanoseconds) {
            throw ControlFailure(
                code: ControlFailure.otherContents,
                message: refusal(path, "has other contents by now than the picture is of; it is not kept").message)
        }
        let isSent = try volume.engine.giveThumbnail(Thumbnail(bytes: Array(picture)), to: item, record)
        return isSent ? .store : .machine
    }
}

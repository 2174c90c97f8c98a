import ControlAPI
import DocumentServices
import FileProvider
import Foundation
import ItemCatalog
import Pictures
import SyncEngine
import Trees
import Volume

/// Pictures of documents, downloaded or not.
extension DomainService {
    /// Bytes; a larger picture is no thumbnail, and would not fit into a response.
    private static let largest = 8 << 20

    private func refusal(_ path: PathBytes, _ why: String) -> ControlFailure {
        ControlFailure(
            code: "thumbnail", message: "\(mountPoint + (path.bytes.isEmpty ? "" : "/" + path.string)): \(why)")
    }

    /// - Parameter makes: whether to run thumbnailers on a downloaded document, which takes some seconds.
    func thumbnail(of path: PathBytes, size: Int, makes: Bool = true) async throws -> DocumentThumbnail {
        let (record, item) = try volume.inspect(try await domainPaths.resolve(path).id)
        guard record.kind == .document else { throw refusal(path, "is not a document") }
        return DocumentThumbnail(
            picture: try await picture(path, record, item, size, makes: makes),
            uri: ThumbnailService.uri(mountPoint, path.names.map(\.bytes)), modified: record.modified.seconds)
    }

    /// Tries in this order: the picture that a program gave, the cache, the store, the thumbnailers. If the store makes
    /// pictures of any document, the thumbnailers go before the store.
    private func picture(
        _ path: PathBytes, _ record: InodeRecord, _ item: ItemRecord?, _ size: Int, makes: Bool
    ) async throws -> Data {
        let pictures = thumbnails.pictures
        if let given = item.flatMap(pictures.given), let fitted = DocumentPictures.fitted(given, size) { return fitted }
        let cached = thumbnails.cached(record, item, size: size)
        // (If the provider stores pictures, a program on another machine may have given one since.)
        if let cached, !cached.isMade || !pictures.isKept { return cached.picture }
        let name = path.names.last ?? ""
        let canMake = makes && record.extents == nil && record.writing == nil && pictures.canMake(name)
        var refused: FileProviderError?
        if let item, pictures.isKept || !canMake {
            var found: Thumbnail?
            do { found = try await pictures.stores(item, record, size: size) } catch { refused = error }
            if let found { return try checked(found, path, size) }
        }
        if let cached { return cached.picture }
        if canMake {
            let made = await Task(executorPreference: volume.engine.mount.workers) {
                pictures.make(record.id, named: name)
            }.value
            if case .picture(let raster) = made, let png = raster.fitting(size)?.png { return png }
            if let item, !pictures.isKept, let found = try? await pictures.stores(item, record, size: size) {
                return try checked(found, path, size)
            }
        }
        if let refused { throw refusal(path, refused.message) }
        guard let item, item.identifier != nil, item.contentRevision == 0, record.writing != .modified else {
            throw refusal(
                path, "has changes that are not in the store yet, and no picture of its own; run hydrant sync first")
        }
        throw refusal(path, pictures.isMade ? "there is no thumbnail of it" : "its provider makes no thumbnails")
    }

    /// The user's program has put a picture of the document into the cache: from now on the picture follows the
    /// document.
    func noteThumbnail(_ path: PathBytes, _ note: CachedThumbnailNote) async throws {
        let record = try await domainPaths.resolve(path)
        thumbnails.note(record.id, uri: note.uri, modified: note.modified, bytes: note.bytes, in: note.folder)
    }

    private func checked(_ found: Thumbnail, _ path: PathBytes, _ size: Int) throws -> Data {
        guard !found.bytes.isEmpty else { throw refusal(path, "there is no thumbnail of it") }
        guard found.bytes.count <= Self.largest else {
            throw refusal(path, "the provider's thumbnail has \(found.bytes.count) bytes; report it to its author")
        }
        // (The client may be able to read a picture that we cannot.)
        return DocumentPictures.fitted(found, size) ?? Data(found.bytes)
    }

    /// Stores the picture of a document that a program has saved.
    ///
    /// - Returns: where the picture is kept; it survives a restart when this returns.
    func giveThumbnail(_ picture: Data, to path: PathBytes, of contents: SavedContents?) async throws -> GivenThumbnail
    {
        // (Record first what the document's writer has closed.)
        volume.endWritingNow()
        let (record, item) = try volume.inspect(try await domainPaths.resolve(path).id)
        guard record.kind == .document else { throw refusal(path, "is not a document") }
        guard let item else {
            throw refusal(path, "is a hard link, which only this machine has; name the document itself")
        }
        if volume.engine.mount.isReadOnly { throw refusal(path, "is mounted read-only") }
        guard PNGPicture(picture) != nil, Raster(picture, mostPixels: GivenThumbnail.pixels) != nil else {
            throw refusal(
                path,
                "the picture is not a complete PNG of at most \(GivenThumbnail.pixels) × \(GivenThumbnail.pixels) pixels"
            )
        }
        if let contents, contents != SavedContents(size: record.size, modified: record.modified.nanoseconds) {
            throw ControlFailure(
                code: ControlFailure.otherContents,
                message: refusal(path, "its contents have changed since; the picture is not kept").message)
        }
        let isSent = try volume.engine.giveThumbnail(Thumbnail(bytes: Array(picture)), to: item, record)
        thumbnails.forget(record.id)
        return isSent ? .store : .machine
    }
}

import ControlAPI
import DocumentServices
import FileProvider
import Foundation
import ItemCatalog
import Pictures
import SyncEngine
import Trees
import Volume

/// Pictures of documents that need not be here.
extension DomainService {
    /// In bytes; larger ones are no thumbnails, and would not fit into an answer.
    private static let largest = 8 << 20

    private func refusal(_ path: PathBytes, _ why: String) -> ControlFailure {
        ControlFailure(
            code: "thumbnail", message: "\(mountPoint + (path.bytes.isEmpty ? "" : "/" + path.string)): \(why)")
    }

    /// - Parameter makes: whether one may be made of a document that is here, which takes some seconds.
    func thumbnail(of path: PathBytes, size: Int, makes: Bool = true) async throws -> DocumentThumbnail {
        let (record, item) = try volume.inspect(try await domainPaths.resolve(path).id)
        guard record.kind == .document else { throw refusal(path, "is not a document") }
        return DocumentThumbnail(
            picture: try await picture(path, record, item, size, makes: makes),
            uri: ThumbnailService.uri(mountPoint, path.names.map(\.bytes)), modified: record.modified.seconds)
    }

    /// The first of: what a program gave, what is in the cache already, what the store has, what can be made here. Where a store makes
    /// pictures of any document, one that is here need not be asked for.
    private func picture(
        _ path: PathBytes, _ record: InodeRecord, _ item: ItemRecord?, _ size: Int, makes: Bool
    ) async throws -> Data {
        let pictures = thumbnails.pictures
        if let given = item.flatMap(pictures.given), let fitted = DocumentPictures.fitted(given, size) { return fitted }
        let cached = thumbnails.cached(record, item, size: size)
        // (Of what a provider keeps a program on another machine may have given one since.)
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
            let context = volume.engine.context
            let made = await Task(executorPreference: context.workers) {
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

    /// A program of the user's has put a picture of the document into the cache: it goes with the document.
    func noteThumbnail(_ path: PathBytes, _ note: CachedThumbnailNote) async throws {
        let record = try await domainPaths.resolve(path)
        thumbnails.note(record.id, uri: note.uri, modified: note.modified, bytes: note.bytes, in: note.folder)
    }

    private func checked(_ found: Thumbnail, _ path: PathBytes, _ size: Int) throws -> Data {
        guard !found.bytes.isEmpty else { throw refusal(path, "there is no thumbnail of it") }
        guard found.bytes.count <= Self.largest else {
            throw refusal(path, "the provider's thumbnail has \(found.bytes.count) bytes; report it to its author")
        }
        // (What cannot be read here somebody else may be able to.)
        return DocumentPictures.fitted(found, size) ?? Data(found.bytes)
    }

    /// A program gives the document that it has saved its picture.
    ///
    /// - Returns: where it is kept, once it survives a restart.
    func giveThumbnail(_ picture: Data, to path: PathBytes, of contents: SavedContents?) async throws -> GivenThumbnail
    {
        // (What its writer has closed is recorded first.)
        volume.endWritingNow()
        let (record, item) = try volume.inspect(try await domainPaths.resolve(path).id)
        guard record.kind == .document else { throw refusal(path, "is not a document") }
        guard let item else { throw refusal(path, "is another name of a document, which stays on this machine") }
        if volume.engine.context.isReadOnly { throw refusal(path, "is mounted read-only") }
        guard PNGPicture(picture) != nil, Raster(picture, mostPixels: GivenThumbnail.pixels) != nil else {
            throw refusal(
                path,
                "the picture is no whole PNG of at most \(GivenThumbnail.pixels) × \(GivenThumbnail.pixels) pixels")
        }
        if let contents, contents != SavedContents(size: record.size, modified: record.modified.nanoseconds) {
            throw ControlFailure(
                code: ControlFailure.otherContents,
                message: refusal(path, "has other contents by now than the picture is of; it is not kept").message)
        }
        let isSent = try volume.engine.giveThumbnail(Thumbnail(bytes: Array(picture)), to: item, record)
        thumbnails.forget(record.id)
        return isSent ? .store : .machine
    }
}

import ContentStore
import FileProvider
import Foundation
import ItemCatalog
import Pictures
import SyncEngine
import Synchronization
import Trees
import UniformTypes

/// The sources of a document's picture: the program that saved the document, the store, and, for a downloaded document,
/// the desktop's thumbnailers. None of them downloads the document.
final class DocumentPictures: Sendable {
    private let mount: MountState
    private let client: StoreClient
    private let given: GivenThumbnails
    private let shelf: ThumbnailShelf
    private let run: ThumbnailerRun
    private let types = UniformTypeTable.system

    private struct Programs {
        var found: DesktopThumbnailers
        var moment: ContinuousClock.Instant
    }
    private let programs = Mutex<Programs?>(nil)
    /// The time until newly installed thumbnailers are noticed.
    private static let fresh: Duration = .seconds(60)

    init(_ engine: SyncEngine, stateDirectory: String) {
        mount = engine.mount
        client = engine.client
        given = engine.given
        shelf = engine.thumbnails
        run = ThumbnailerRun(stateDirectory: stateDirectory)
    }

    /// The provider stores pictures that programs gave; those go before pictures made here.
    var isKept: Bool { client.keepsThumbnails }
    var isMade: Bool { client.makesThumbnails }

    // MARK: From programs

    /// The picture of the item's current contents that a program gave on this machine and that is not in the store yet.
    func given(_ item: ItemRecord) -> Thumbnail? { given.thumbnail(of: item) }

    // MARK: From the store

    /// - Returns: nil: there is no picture, or the document has changes that the store does not have.
    func stores(_ item: ItemRecord, _ inode: InodeRecord, size: Int) async throws(FileProviderError) -> Thumbnail? {
        guard let identifier = item.identifier, let version = item.baseVersion?.content, item.contentRevision == 0,
            inode.writing != .modified
        else { return nil }
        guard isMade else {
            return shelf.thumbnail(of: identifier, version)
        }
        do {
            let made = try await client.thumbnail(of: identifier, version: version, size: size)
            return made ?? shelf.thumbnail(of: identifier, version)
        } catch {
            if let kept = shelf.thumbnail(of: identifier, version) { return kept }
            throw error
        }
    }

    // MARK: From the desktop

    private func thumbnailers(of name: String) -> [DesktopThumbnailers.Program] {
        guard let type = types.mimeType(ofFilename: name) else { return [] }
        let known = programs.withLock { programs in
            if let known = programs, known.moment + Self.fresh > .now { return known.found }
            let found = DesktopThumbnailers()
            programs = Programs(found: found, moment: .now)
            return found
        }
        return known.programs(for: type)
    }

    func canMake(_ name: Filename) -> Bool { !thumbnailers(of: name.string).isEmpty }

    /// The result of a thumbnailer.
    enum Made {
        case picture(Raster)
        /// No thumbnailer can make a picture.
        case none
        /// Not now: the document is not fully downloaded, or a program is changing it.
        case notNow
    }

    /// Blocks for some seconds: call this on a worker's thread.
    func make(_ inode: InodeID, named name: Filename) -> Made {
        do {
            let (record, content) = try mount.openCurrent(inode)
            guard record.kind == .document, record.size > 0, content.isComplete, record.writing == nil else {
                return .notNow
            }
            for program in thumbnailers(of: name.string).prefix(2) {
                guard let raster = try run.picture(of: content, named: name.string, by: program) else { continue }
                let now = try mount.catalog.read { try $0.inodeIfPresent(inode) }
                let isAsBefore =
                    now?.generation == record.generation && now?.size == record.size
                    && now?.modified == record.modified && now?.writing == nil
                return isAsBefore ? .picture(raster) : .notNow
            }
            return .none
        } catch { return .notNow }
    }

    // MARK: Scaling

    /// The picture unchanged if it fits into a square of `size` pixels, else scaled down; nil: it is unreadable.
    static func fitted(_ thumbnail: Thumbnail, _ size: Int) -> Data? {
        let data = Data(thumbnail.bytes)
        guard let raster = Raster(data) else { return nil }
        return max(raster.width, raster.height) <= size ? data : raster.fitting(size)?.png
    }
}

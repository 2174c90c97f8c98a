import CGIO
import ControlAPI
public import Foundation
import MetadataQuery
import Synchronization
public import UniformTypes

/// Opens, previews, copies or prints a document that a program cannot show itself.
///
/// A controller is for one document. Making a controller downloads nothing: a placeholder is enough to find programs
/// for the document. Opening, previewing and printing download the document first.
///
/// Source: Apple, `UIDocumentInteractionController`.
public final class DocumentInteractionController: Sendable {
    /// The URL that was given.
    public let url: URL
    /// The last component of the path. Invalid UTF-8 is shown as U+FFFD.
    public let name: String
    /// The type that the name implies; if it implies none and the document is here, the type that the contents imply.
    public let type: UniformType
    /// A folder can be opened, but not previewed or printed.
    public let isFolder: Bool
    /// In bytes, when the controller was made; 0 for folders.
    public let size: Int64
    let place: DocumentPlace

    private struct OpenContext {
        var annotation: AnnotationValue?
        var source: String
    }
    private let openContext = Mutex(OpenContext(source: ProcessInfo.processInfo.processName))

    /// Makes a controller; downloads nothing.
    ///
    /// - Parameter type: the document's type, if the program knows better than the name.
    /// - Throws: ``DocumentInteractionError``; ``DocumentInteractionError/Code/noSuchDocument``.
    public init(url: URL, type: UniformType? = nil) async throws {
        let place = try await onThread { try DocumentPlace(url) }
        self.url = url
        self.place = place
        name = (place.shown as NSString).lastPathComponent
        isFolder = place.isFolder
        size = place.size
        if let type {
            self.type = type
        } else if place.isFolder {
            self.type = .folder
        } else {
            let byName = UniformTypeTable.system.type(ofFilename: name)
            self.type = Self.saysNothing(byName) ? try await Self.sniffed(place, name) ?? byName : byName
        }
    }

    private static func saysNothing(_ type: UniformType) -> Bool {
        UniformTypeTable.system.mimeType(of: type) == "application/octet-stream"
    }

    /// Bytes to examine: shared-mime-info's magic looks no further.
    private static let mostSniffed = 16 << 10

    /// The type that the contents imply; nil: none, or the document is not here.
    private static func sniffed(_ place: DocumentPlace, _ name: String) async throws -> UniformType? {
        guard place.size > 0, (try? await place.isHere()) == true else { return nil }
        return try await onThread {
            guard let bytes = try? FileBytes.read(place.path, most: mostSniffed).bytes, !bytes.isEmpty else {
                return nil
            }
            guard let guessed = g_content_type_guess(name, bytes, gsize(bytes.count), nil) else { return nil }
            defer { g_free(guessed) }
            let mime = String(cString: guessed)
            return mime == "application/octet-stream" ? nil : UniformTypeTable.system.type(ofMIMEType: mime)
        }
    }

    /// The document's MIME type; nil: it has none.
    public var mimeType: String? { isFolder ? "inode/directory" : UniformTypeTable.system.mimeType(of: type) }

    /// Sent to the program that opens the document; at most 64 KiB of JSON.
    public var annotation: AnnotationValue? {
        get { openContext.withLock { $0.annotation } }
        set { openContext.withLock { $0.annotation = newValue } }
    }

    /// The name of the program that has the document opened, sent to the one that opens it. Default: this process's
    /// name.
    public var sourceProgram: String {
        get { openContext.withLock { $0.source } }
        set { openContext.withLock { $0.source = newValue } }
    }

    /// Whether the whole document is on this machine.
    ///
    /// - Throws: ``DocumentInteractionError``.
    public func isDownloaded() async throws -> Bool { try await place.isHere() }

    /// Downloads the document; returns when it is here.
    ///
    /// - Throws: ``DocumentInteractionError``; ``DocumentInteractionError/Code/download``. `CancellationError`.
    public func download(progress: (@Sendable (DownloadProgress) -> Void)? = nil) async throws {
        try await place.download(progress)
    }

    // MARK: Pictures

    /// The icon theme's files for the document's type, by the wanted sizes (pixels, 8 to 1,024). Several sizes may have
    /// the same file. A size for which no theme has an icon is missing.
    public func icons(sizes: [Int] = [16, 24, 32, 48, 64, 128, 256]) async -> [Int: URL] {
        let mime = mimeType ?? "application/octet-stream"
        return (try? await onThread { IconTheme.current().icons(TypeIcons.names(mime), sizes: sizes) }) ?? [:]
    }

    /// The document's thumbnail, PNG or JPEG, if there is one: the store's, or one that the desktop has made. Downloads
    /// nothing.
    ///
    /// - Parameter size: the side of the square that the thumbnail fits into, 16 to 1,024 pixels.
    public func thumbnail(size: Int = 256) async -> Data? {
        let size = min(max(size, 16), 1_024)
        if place.mountPoint != nil,
            let picture = try? await PromisedItems.values(of: ByteText.url(place.path), thumbnailSize: size).thumbnail
        {
            return picture
        }
        return try? await onThread { [place] in CachedThumbnail.find(of: place, size: size) }
    }
}

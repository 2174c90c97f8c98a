import CGIO
import ControlAPI
public import Foundation
import MetadataQuery
import Synchronization
public import UniformTypes

/// What can be done with a document that a program cannot show itself: open it in another program, preview, copy, print it.
///
/// It is made for one document. Making one downloads nothing: what is known of a placeholder is enough to say which programs
/// there are. Opening, previewing and printing download the document first.
///
/// Source: Apple, `UIDocumentInteractionController`.
public final class DocumentInteractionController: Sendable {
    /// As it was given.
    public let url: URL
    /// The last part of its path. Bytes that are no UTF-8 are U+FFFD.
    public let name: String
    /// As its name tells it; of a document that is here and whose name says nothing, as its contents do.
    public let type: UniformType
    /// A folder is opened, not previewed or printed.
    public let isFolder: Bool
    /// In bytes, of folders 0; as it was when this was made.
    public let size: Int64
    let place: DocumentPlace

    private struct Told {
        var annotation: AnnotationValue?
        var source: String
    }
    private let told = Mutex(Told(source: ProcessInfo.processInfo.processName))

    /// Looks at the document, and downloads nothing.
    ///
    /// - Parameter type: what it is, if the program knows better than its name.
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

    /// In bytes: shared-mime-info's magic looks no further.
    private static let mostSniffed = 16 << 10

    /// Nil: it is not here, or its contents say nothing either.
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

    /// What other programs call its type; nil: they do not know it.
    public var mimeType: String? { isFolder ? "inode/directory" : UniformTypeTable.system.mimeType(of: type) }

    /// Told to the program that opens the document; at most 64 KiB of JSON.
    public var annotation: AnnotationValue? {
        get { told.withLock { $0.annotation } }
        set { told.withLock { $0.annotation = newValue } }
    }

    /// Told to the program that opens the document: who has it opened. This process's name unless it is set.
    public var sourceProgram: String {
        get { told.withLock { $0.source } }
        set { told.withLock { $0.source = newValue } }
    }

    /// Whether all of it is on this machine.
    ///
    /// - Throws: ``DocumentInteractionError``.
    public func isDownloaded() async throws -> Bool { try await place.isHere() }

    /// Returns when the document is here.
    ///
    /// - Throws: ``DocumentInteractionError``; ``DocumentInteractionError/Code/download``. `CancellationError`.
    public func download(progress: (@Sendable (DownloadProgress) -> Void)? = nil) async throws {
        try await place.download(progress)
    }

    // MARK: Pictures

    /// The files of the icon theme with the icon of its type, by the sizes that they are asked for (pixels, 8 to 1,024); the same
    /// file may be good for several. A size for which no theme has an icon is missing.
    public func icons(sizes: [Int] = [16, 24, 32, 48, 64, 128, 256]) async -> [Int: URL] {
        let mime = mimeType ?? "application/octet-stream"
        return (try? await onThread { IconTheme.current().icons(TypeIcons.names(mime), sizes: sizes) }) ?? [:]
    }

    /// A small picture of it, PNG or JPEG, if there is one: the store's, or one that the desktop has made. Nothing is downloaded.
    ///
    /// - Parameter size: it fits into a square of so many pixels, 16 to 1,024.
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

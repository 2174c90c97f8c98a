import ControlAPI
public import Foundation
import Glibc

/// Sets the thumbnails of documents that a program saves. File managers show them, also on other machines before the
/// document is there, if the store can keep them.
///
/// Source: Apple, `UIDocument.fileAttributesToWrite(to:for:)`, `URLResourceKey.thumbnailDictionaryKey`.
public enum DocumentThumbnails {
    /// The largest width and height of a thumbnail.
    public static let pixels = GivenThumbnail.pixels
    /// The largest file of a thumbnail.
    public static let bytes = GivenThumbnail.bytes

    /// The place where a thumbnail is kept.
    public enum Place: Sendable, Equatable {
        /// In the store, after the contents, and when the store can be reached.
        case store
        /// On this machine only: the provider keeps no thumbnails.
        case machine
    }

    /// Identifies the contents that a thumbnail shows.
    public struct Contents: Sendable, Equatable {
        /// In bytes.
        public let size: Int64
        /// In nanoseconds since 1970.
        public let modified: Int64

        /// The present contents of an open file: for a program that saves, right before it closes the file, when
        /// everything is written and the file has its date.
        ///
        /// - Throws: ``CoordinationError/Code/noSuchItem`` when the descriptor is not open.
        public init(ofDescriptor descriptor: Int32) throws {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else {
                throw CoordinationError(
                    .noSuchItem, "descriptor \(descriptor): \(String(cString: strerror(errno)))")
            }
            self.init(status)
        }

        /// The present contents of a file, links followed.
        ///
        /// - Throws: ``CoordinationError/Code/noSuchItem`` when the file does not exist.
        public init(of url: URL) throws {
            let path = ByteText.text(of: url)
            var status = stat()
            guard ByteText.withPath(path, { fstatat(AT_FDCWD, $0, &status, 0) }) == 0 else {
                throw CoordinationError(
                    .noSuchItem, "\(ByteText.shown(path)): \(String(cString: strerror(errno)))")
            }
            self.init(status)
        }

        private init(_ status: stat) {
            size = Int64(status.st_size)
            modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
        }
    }

    /// Sets a document's thumbnail, until the document's contents change. When this returns, the thumbnail is durable,
    /// and goes to the store by itself; a failure to store it does not affect the document.
    ///
    /// - Parameters:
    ///   - picture: a PNG of at most ``pixels`` by ``pixels``, and ``bytes``.
    ///   - url: a document in a mounted domain, or in a scoped folder.
    ///   - contents: the contents that the picture shows; nil: those that the document has when the request arrives.
    /// - Throws: ``CoordinationError``; ``CoordinationError/Code/otherContents`` when somebody has changed the document
    ///   since, and
    ///   the thumbnail is not kept; ``CoordinationError/Code/refused`` when the picture is not of this kind, or the
    ///   item is not a document.
    @discardableResult
    public static func set(
        _ picture: Data, of url: URL, contents: Contents? = nil
    ) async throws -> Place {
        let place = try await ItemPlace.find(url, follows: true)
        guard picture.count <= bytes else {
            throw CoordinationError(
                .refused,
                "\(ByteText.shown(ByteText.text(of: url))): a picture of \(picture.count) bytes; it may have at most \(bytes)"
            )
        }
        let saved = contents.map { SavedContents(size: $0.size, modified: $0.modified) }
        let request = ControlRequest.giveThumbnail(path: place.path, picture: picture, contents: saved)
        guard case .thumbnailGiven(let given) = try await DomainConnection.ask(place.mountPoint, request) else {
            throw CoordinationError(
                .refused, "\(place.mountPoint): unexpected answer from the daemon; unmount and mount again")
        }
        switch given {
        case .store: return .store
        case .machine: return .machine
        }
    }
}

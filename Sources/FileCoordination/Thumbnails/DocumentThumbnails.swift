import ControlAPI
public import Foundation
import Glibc

/// Pictures that programs give the documents they save: file managers show them, on other machines too before the
/// document itself is there, where the store can keep them.
///
/// Source: Apple, `UIDocument.fileAttributesToWrite(to:for:)`, `URLResourceKey.thumbnailDictionaryKey`.
public enum DocumentThumbnails {
    /// Width and height of a picture at most.
    public static let pixels = GivenThumbnail.pixels
    /// Of a picture at most.
    public static let bytes = GivenThumbnail.bytes

    /// Where a picture is kept.
    public enum Place: Sendable, Equatable {
        /// It goes to the store, after the contents, and when the store can be reached.
        case store
        /// The document's provider keeps none: it is on this machine only.
        case machine
    }

    /// Which contents of a document a picture shows.
    public struct Contents: Sendable, Equatable {
        /// In bytes.
        public let size: Int64
        /// In nanoseconds since 1970.
        public let modified: Int64

        /// Those that an open file has now: of a program that saves, right before it closes the file, when all is
        /// written and the file has its date.
        ///
        /// - Throws: ``CoordinationError/Code/noSuchItem`` when it is no open file.
        public init(ofDescriptor descriptor: Int32) throws {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else {
                throw CoordinationError(
                    .noSuchItem, "descriptor \(descriptor): \(String(cString: strerror(errno)))")
            }
            self.init(status)
        }

        /// Those that a file has now; links are followed.
        ///
        /// - Throws: ``CoordinationError/Code/noSuchItem`` when there is none.
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

    /// Gives a document its picture, until its contents change. When it returns the picture survives a restart, and
    /// goes to the store by itself; a document is stored whatever becomes of its picture.
    ///
    /// - Parameters:
    ///   - picture: a PNG of at most ``pixels`` by ``pixels``, and ``bytes``.
    ///   - url: a document in a mounted domain, or in a scoped folder of one.
    ///   - contents: those that the picture shows; nil: those that the document has when the request arrives.
    /// - Throws: ``CoordinationError``; ``CoordinationError/Code/otherContents`` when somebody has changed the document
    ///   since: the
    ///   picture is not kept. ``CoordinationError/Code/refused`` when it is no such picture, or no document.
    @discardableResult
    public static func set(
        _ picture: Data, of url: URL, contents: Contents? = nil
    ) async throws -> Place {
        let place = try await ItemPlace.find(url, follows: true)
        guard picture.count <= bytes else {
            throw CoordinationError(
                .refused,
                "\(ByteText.shown(ByteText.text(of: url))): a picture of \(picture.count) bytes; at most \(bytes) are taken"
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

import Crypto
import Foundation
package import Pictures
import Surroundings

/// A user's cache of thumbnails, where file managers look before they make one themselves.
///
/// Source: freedesktop.org, Thumbnail Managing Standard 0.9.
package struct ThumbnailCache: Sendable {
    /// The folder of this user's.
    package let folder: String

    /// One of its folders: for pictures that fit into a square.
    package enum Size: Int, CaseIterable, Sendable {
        case normal = 128
        case large = 256
        case xLarge = 512
        case xxLarge = 1024

        var name: String {
            switch self {
            case .normal: "normal"
            case .large: "large"
            case .xLarge: "x-large"
            case .xxLarge: "xx-large"
            }
        }
        /// In pixels.
        var pixels: Int { rawValue }
    }

    /// The one of this process's environment.
    package init() throws {
        guard let cache = BaseDirectory.cache.path() else {
            throw Problem("\(BaseDirectory.cache.missing); get the picture with -o FILE")
        }
        self.init(folder: cache + "/thumbnails")
    }

    package init(folder: String) { self.folder = folder }

    package struct Problem: Error, CustomStringConvertible {
        package let description: String
        package init(_ description: String) { self.description = description }
    }

    private static let software = "hydrant"

    // MARK: Where

    private static func name(of uri: String) -> String {
        Insecure.MD5.hash(data: Array(uri.utf8)).hexadecimal + ".png"
    }

    package func path(of uri: String, _ size: Size) -> String { "\(folder)/\(size.name)/\(Self.name(of: uri))" }

    /// What no program of ours can make a picture of, it notes by its own name.
    private func failurePath(of uri: String) -> String {
        "\(folder)/fail/hydrant-\(Release.version)/\(Self.name(of: uri))"
    }

    // MARK: Looking

    /// Whether there is a picture of the document as it is, whoever made it.
    ///
    /// - Parameter modified: of the document, in seconds since 1970.
    package func has(_ uri: String, modified: Int64, _ size: Size) -> Bool {
        picture(of: uri, modified: modified, size) != nil
    }

    /// Nil: there is none, or one of the document as it was.
    package func picture(of uri: String, modified: Int64, _ size: Size) -> PNGPicture? {
        read(path(of: uri, size), uri, modified)
    }

    package func hasFailed(_ uri: String, modified: Int64) -> Bool { read(failurePath(of: uri), uri, modified) != nil }

    /// In bytes; larger ones are no thumbnails.
    private static let largest: Int64 = 16 << 20

    private func read(_ path: String, _ uri: String, _ modified: Int64) -> PNGPicture? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= Self.largest,
            let data = FileManager.default.contents(atPath: path), let picture = PNGPicture(data),
            picture.text("Thumb::URI") == uri, picture.text("Thumb::MTime") == "\(modified)"
        else { return nil }
        return picture
    }

    // MARK: Putting

    /// Puts a picture into the folders of all sizes up to `largest`, made smaller for each.
    ///
    /// - Returns: how many bytes they have together.
    package func install(
        _ raster: Raster, of uri: String, modified: Int64, upTo largest: Size = .xxLarge
    ) throws -> Int64 {
        var bytes: Int64 = 0
        // (The largest first: each is made of the one before.)
        var current = raster
        for size in Size.allCases.reversed() where size.pixels <= largest.pixels {
            guard let smaller = current.fitting(size.pixels), let png = smaller.png, let picture = PNGPicture(png)
            else {
                throw Problem("there is no memory for a picture of \(size.pixels) pixels")
            }
            current = smaller
            bytes += try put(picture, uri, modified, at: path(of: uri, size))
        }
        return bytes
    }

    /// No picture can be made of the document as it is.
    package func installFailure(of uri: String, modified: Int64) throws -> Int64 {
        // A pixel that is not seen, made with Python's zlib.
        let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR4nGNgAAIAAAUAAXpeqz8AAAAASUVORK5CYII="
        guard let picture = Data(base64Encoded: pixel).flatMap({ PNGPicture($0) }) else { return 0 }
        return try put(picture, uri, modified, at: failurePath(of: uri))
    }

    /// It is there whole or not at all.
    private func put(_ picture: PNGPicture, _ uri: String, _ modified: Int64, at path: String) throws -> Int64 {
        let directory = (path as NSString).deletingLastPathComponent
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw Problem("\(directory): cannot be made: \(error.localizedDescription)") }
        let data = picture.data(
            with: [("Thumb::URI", uri), ("Thumb::MTime", "\(modified)"), ("Software", Self.software)])
        do { try SmallFile.replace(path, with: data, isDurable: false) } catch {
            throw Problem("\(path): cannot be written: \(error.reason)")
        }
        return Int64(data.count)
    }

    // MARK: Going

    /// What is there of a document.
    ///
    /// - Parameter anybodys: also what others have put there.
    package func remove(_ uri: String, anybodys: Bool = false) {
        let paths = Size.allCases.map { path(of: uri, $0) } + [failurePath(of: uri)]
        for path in paths where anybodys || isOurs(path) { unlink(path) }
    }

    /// The document has another name by now. What is there of another document, or of other contents, stays.
    ///
    /// - Returns: false: there was no picture of it.
    package func move(_ uri: String, to other: String, modified: Int64) -> Bool {
        var isMoved = false
        for size in Size.allCases {
            let old = path(of: uri, size)
            guard let picture = read(old, uri, modified), picture.text("Software") == Self.software else { continue }
            if (try? put(picture, other, modified, at: path(of: other, size))) != nil {
                unlink(old)
                isMoved = true
            }
        }
        return isMoved
    }

    private func isOurs(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_size <= Self.largest else { return false }
        return FileManager.default.contents(atPath: path).flatMap { PNGPicture($0) }?.text("Software") == Self.software
    }
}

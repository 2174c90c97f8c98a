import Foundation
import Hashing
package import Pictures
import Surroundings

/// A user's cache of thumbnails; file managers look there before they make thumbnails.
///
/// Source: freedesktop.org, Thumbnail Managing Standard 0.9.
package struct ThumbnailCache: Sendable {
    /// The cache's folder.
    package let folder: String

    /// A subfolder: for pictures that fit into a square of this size.
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
        /// The side of the square.
        var pixels: Int { rawValue }
    }

    /// The cache that this process's environment names.
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

    // MARK: Paths

    private static func name(of uri: String) -> String {
        Insecure.MD5.hash(data: Array(uri.utf8)).hexadecimal + ".png"
    }

    package func path(of uri: String, _ size: Size) -> String { "\(folder)/\(size.name)/\(Self.name(of: uri))" }

    /// The path of our note that we cannot make a picture; other programs keep their own notes.
    private func failurePath(of uri: String) -> String {
        "\(folder)/fail/hydrant-\(Release.version)/\(Self.name(of: uri))"
    }

    // MARK: Looking

    /// Whether there is a picture of the document's current version, by any program.
    ///
    /// - Parameter modified: the document's modification date, in seconds since 1970.
    package func has(_ uri: String, modified: Int64, _ size: Size) -> Bool {
        picture(of: uri, modified: modified, size) != nil
    }

    /// Nil: there is no picture, or only one of an older version.
    package func picture(of uri: String, modified: Int64, _ size: Size) -> PNGPicture? {
        read(path(of: uri, size), uri, modified)
    }

    package func hasFailed(_ uri: String, modified: Int64) -> Bool { read(failurePath(of: uri), uri, modified) != nil }

    /// Bytes; a larger file is no thumbnail.
    private static let largest: Int64 = 16 << 20

    private func read(_ path: String, _ uri: String, _ modified: Int64) -> PNGPicture? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= Self.largest,
            let data = FileManager.default.contents(atPath: path), let picture = PNGPicture(data),
            picture.text("Thumb::URI") == uri, picture.text("Thumb::MTime") == "\(modified)"
        else { return nil }
        return picture
    }

    // MARK: Writing

    /// Writes a picture into the folders of all sizes up to `largest`, scaled down for each.
    ///
    /// - Returns: the number of bytes of all files.
    package func install(
        _ raster: Raster, of uri: String, modified: Int64, upTo largest: Size = .xxLarge
    ) throws -> Int64 {
        var bytes: Int64 = 0
        // (Start with the largest: each size is made from the one before.)
        var current = raster
        for size in Size.allCases.reversed() where size.pixels <= largest.pixels {
            guard let smaller = current.fitting(size.pixels), let png = smaller.png, let picture = PNGPicture(png)
            else {
                throw Problem("not enough memory for a picture of \(size.pixels) pixels")
            }
            current = smaller
            bytes += try put(picture, uri, modified, at: path(of: uri, size))
        }
        return bytes
    }

    /// Notes that no picture can be made of the document's current version.
    package func installFailure(of uri: String, modified: Int64) throws -> Int64 {
        // One transparent pixel, made with Python's zlib.
        let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR4nGNgAAIAAAUAAXpeqz8AAAAASUVORK5CYII="
        guard let picture = Data(base64Encoded: pixel).flatMap({ PNGPicture($0) }) else { return 0 }
        return try put(picture, uri, modified, at: failurePath(of: uri))
    }

    /// Writes the file atomically.
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

    // MARK: Removing

    /// Removes the pictures of a document.
    ///
    /// - Parameter anybodys: whether to remove other programs' pictures too.
    package func remove(_ uri: String, anybodys: Bool = false) {
        let paths = Size.allCases.map { path(of: uri, $0) } + [failurePath(of: uri)]
        for path in paths where anybodys || isOurs(path) { unlink(path) }
    }

    /// Moves the pictures of a renamed document. Leaves pictures of other documents or other contents in place.
    ///
    /// - Returns: false: there was no picture to move.
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

import Crypto
import Foundation
package import Pictures
import Surroundings

/// The user's cache of thumbnails, where file managers look before they make one themselves.
///
/// Source: freedesktop.org, Thumbnail Managing Standard.
package struct ThumbnailCache: Sendable {
    private let folder: String

    package init() throws {
        guard let cache = BaseDirectory.cache.path() else {
            throw Problem("\(BaseDirectory.cache.missing); get the picture with -o FILE")
        }
        folder = cache + "/thumbnails"
    }

    package struct Problem: Error, CustomStringConvertible {
        package let description: String
        init(_ description: String) { self.description = description }
    }

    /// - Parameter modified: of the document, in seconds since 1970: with another date the picture is old.
    /// - Returns: the path of the picture, which is there whole or not at all.
    package func install(_ picture: PNGPicture, of uri: String, modified: Int64) throws -> String {
        let side = max(picture.width, picture.height)
        let sizes = [("normal", 128), ("large", 256), ("x-large", 512), ("xx-large", 1024)]
        guard let (name, _) = sizes.first(where: { side <= $0.1 }) else {
            throw Problem(
                "the provider's picture has \(picture.width) × \(picture.height) pixels, too many for the thumbnail cache"
            )
        }
        let directory = "\(folder)/\(name)"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let digest = Insecure.MD5.hash(data: Array(uri.utf8)).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        let path = "\(directory)/\(digest.joined()).png"
        let data = picture.data(with: [("Thumb::URI", uri), ("Thumb::MTime", "\(modified)")])
        let draft = "\(path).\(getpid()).tmp"
        guard FileManager.default.createFile(atPath: draft, contents: data, attributes: [.posixPermissions: 0o600]),
            rename(draft, path) == 0
        else {
            unlink(draft)
            throw Problem("\(path): cannot be written")
        }
        return path
    }
}

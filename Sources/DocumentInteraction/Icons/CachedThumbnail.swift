import CGIO
import ControlAPI
import Foundation
import Surroundings

/// A thumbnail that a file manager or a thumbnailer has put into the user's cache.
///
/// Source: freedesktop.org, *Thumbnail Managing Standard* 0.9.
enum CachedThumbnail {
    /// In bytes.
    private static let most = 16 << 20
    private static let sizes = [("normal", 128), ("large", 256), ("x-large", 512), ("xx-large", 1_024)]

    /// The smallest thumbnail that is large enough, otherwise the largest. Blocks.
    static func find(of place: DocumentPlace, size: Int) -> Data? {
        guard let cache = BaseDirectory.cache.path(), let uri = FileURI.text(place.path),
            let digest = g_compute_checksum_for_string(G_CHECKSUM_MD5, uri, -1)
        else { return nil }
        defer { g_free(digest) }
        let name = String(cString: digest) + ".png"
        let (large, small) = (sizes.filter { $0.1 >= size }, sizes.filter { $0.1 < size }.reversed())
        for (folder, _) in large + small {
            guard let read = try? FileBytes.read("\(cache)/thumbnails/\(folder)/\(name)", most: most), read.isWhole,
                // Skip a thumbnail of earlier contents.
                PNGText.value("Thumb::MTime", in: read.bytes) == "\(place.modified)"
            else { continue }
            return Data(read.bytes)
        }
        return nil
    }
}

enum FileURI {
    /// The URI as GLib writes it, so that the hash of the name is the same.
    static func text(_ path: String) -> String? {
        guard let uri = ByteText.withPath(path, { g_filename_to_uri($0, nil, nil) }) else { return nil }
        defer { g_free(uri) }
        return String(cString: uri)
    }
}

/// The texts in a PNG (ISO/IEC 15948, `tEXt`).
enum PNGText {
    static func value(_ keyword: String, in png: [UInt8]) -> String? {
        guard png.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) else { return nil }
        var rest = png.dropFirst(8)
        while rest.count >= 12 {
            let start = rest.startIndex
            let length = rest[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
            guard length <= rest.count - 12 else { return nil }
            let body = rest[start + 8..<start + 8 + length]
            let kind = rest[start + 4..<start + 8]
            if kind.elementsEqual("tEXt".utf8), let end = body.firstIndex(of: 0),
                body[..<end].elementsEqual(keyword.utf8)
            {
                return String(decoding: body[(end + 1)...], as: UTF8.self)
            }
            rest = rest.dropFirst(12 + length)
        }
        return nil
    }
}

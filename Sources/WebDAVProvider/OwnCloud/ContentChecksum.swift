import FileProvider
import Hashing
import Surroundings

/// Distinguishes contents on ownCloud and Nextcloud together with the entity tag, which two versions within one second
/// may share: `SHA1:…`, kept by the server as it was sent.
///
/// Source: docs.nextcloud.com, developer manual, WebDAV, `OC-Checksum`; seen with Nextcloud 34: the tag of a document
/// stays the same while its date in seconds does, whatever its size, and the server verifies no checksum.
enum ContentChecksum {
    /// The best of several (`MD5:… SHA1:…`), verbatim; nil: none can be used.
    static func best(_ text: String) -> String? {
        let all = text.split(separator: " ").filter { word in
            word.contains(":") && word.utf8.count <= 200 && word.utf8.allSatisfy { $0 > 32 && $0 < 127 && $0 != 0x3b }
        }
        for kind in ["SHA256:", "SHA1:", "MD5:"] {
            if let found = all.first(where: { $0.uppercased().hasPrefix(kind) }) { return String(found) }
        }
        return all.first.map(String.init)
    }

    /// Replaces the checksum of a document sent without one: within a second a document may even have two sizes under
    /// one tag.
    static func size(_ size: Int64) -> String { "size:\(size)" }

    /// Compares the algorithms of two checksums: the part before the colon.
    static func isSameKind(_ one: String, _ other: String) -> Bool {
        one.prefix { $0 != ":" }.uppercased() == other.prefix { $0 != ":" }.uppercased()
    }

    /// Reads all contents.
    static func of(_ contents: any ContentSource, _ name: Filename) async throws(FileProviderError) -> String {
        guard let digest = try await contents.digest(Insecure.SHA1.self, first: contents.size) else {
            throw FileProviderError(.cannotSynchronize, "“\(name)”: the contents end before their size")
        }
        return "SHA1:" + digest.hexadecimal
    }
}

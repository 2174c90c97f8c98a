package import FileProvider
import Foundation
import Hashing
import Surroundings

/// Thumbnails of documents in the store, each for one version: those that the provider gave with placeholders, and
/// those from programs that the store does not keep. Files, so that they survive a restart.
package struct ThumbnailShelf: Sendable {
    private let folder: String
    /// In bytes; a larger picture is no thumbnail.
    private static let largest = 4 << 20
    /// Beyond this number the oldest are dropped.
    private static let most = 4_000
    /// The limit for all of them together, in bytes.
    private static let mostBytes = 256 << 20

    init(directory: String) { folder = directory + "/thumbnails" }

    package func put(_ thumbnail: Thumbnail, of identifier: ItemIdentifier, _ version: ContentVersion) throws {
        guard !thumbnail.bytes.isEmpty, thumbnail.bytes.count <= Self.largest else { return }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(thumbnail.bytes).write(to: url(identifier, version), options: .atomic)
        try prune()
    }

    package func thumbnail(of identifier: ItemIdentifier, _ version: ContentVersion) -> Thumbnail? {
        (try? Data(contentsOf: url(identifier, version))).map { Thumbnail(bytes: Array($0)) }
    }

    private func url(_ identifier: ItemIdentifier, _ version: ContentVersion) -> URL {
        let name = VersionDigest.text(of: Array(identifier.rawValue.utf8) + [0] + version.bytes)
        return URL(filePath: "\(folder)/\(name)", directoryHint: .notDirectory)
    }

    private func prune() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        guard names.count > 100 else { return }
        var files = names.map { name in
            let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
            return (
                name: name, size: attributes?[.size] as? Int ?? 0,
                date: attributes?[.modificationDate] as? Date ?? .distantPast
            )
        }
        var bytes = files.reduce(0) { $0 + $1.size }
        guard files.count > Self.most || bytes > Self.mostBytes else { return }
        files.sort { $0.date > $1.date }
        // (Drops some more, so that not every new thumbnail has to drop one.)
        while files.count > Self.most * 9 / 10 || bytes > Self.mostBytes * 9 / 10, let oldest = files.popLast() {
            bytes -= oldest.size
            try? FileManager.default.removeItem(atPath: "\(folder)/\(oldest.name)")
        }
    }
}

/// A version's digest, for file names.
enum VersionDigest {
    static func text(_ version: ContentVersion) -> String { text(of: version.bytes) }

    static func text(of bytes: [UInt8]) -> String {
        SHA256.hash(data: bytes).hexadecimal
    }
}

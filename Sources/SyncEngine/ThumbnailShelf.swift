import Crypto
package import FileProvider
import Foundation

/// Pictures that the provider gave with placeholders, each for one version of one document. Files, so that they are
/// there after a restart as well.
package struct ThumbnailShelf: Sendable {
    private let folder: String
    /// In bytes; larger ones are no thumbnails.
    private static let largest = 4 << 20
    /// When there are more, the oldest go.
    private static let most = 1_000

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
        var hasher = SHA256()
        hasher.update(data: Array(identifier.rawValue.utf8) + [0] + version.bytes)
        let name = hasher.finalize().map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        return URL(filePath: "\(folder)/\(name)", directoryHint: .notDirectory)
    }

    private func prune() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        guard names.count > Self.most else { return }
        let dated = names.map { name in
            let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
            return (name, attributes?[.modificationDate] as? Date ?? .distantPast)
        }
        for (name, _) in dated.sorted(by: { $0.1 < $1.1 }).prefix(names.count - Self.most * 9 / 10) {
            try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
    }
}

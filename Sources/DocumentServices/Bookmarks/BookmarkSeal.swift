import ControlAPI
import Foundation
import Hashing
import Surroundings
import Synchronization

/// Signs bookmarks and verifies them. The key is created with the first bookmark.
final class BookmarkSeal: Sendable {
    private struct Kept: Codable {
        var domain: UUID
        var key: Data
    }
    private let path: String
    private let kept: Mutex<Kept?>

    /// Reads the domain's key, if it has one.
    init(keptAt path: String) throws {
        self.path = path
        guard FileManager.default.fileExists(atPath: path) else {
            kept = Mutex(nil)
            return
        }
        let data = try Data(contentsOf: URL(filePath: path, directoryHint: .notDirectory))
        kept = Mutex(try JSONDecoder().decode(Kept.self, from: data))
    }

    /// The key is on the disk when this returns.
    func domainID() throws -> UUID { try secret().domain }

    private func secret() throws -> Kept {
        try kept.withLock { kept in
            if let kept { return kept }
            let new = Kept(domain: UUID(), key: Data((0..<32).map { _ in UInt8.random(in: .min ... .max) }))
            try SmallFile.replace(path, with: try JSONEncoder().encode(new))
            kept = new
            return new
        }
    }

    func seal(_ payload: BookmarkPayload) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let body = try encoder.encode(payload)
        return Data(BookmarkPayload.mark) + Data(AuthenticationCode.of(body, key: try secret().key)) + body
    }

    /// - Throws: ``ControlFailure``: the data is no bookmark, another domain's bookmark, or a modified one.
    func open(_ bookmark: Data) throws -> BookmarkPayload {
        guard let payload = BookmarkPayload(unchecked: bookmark) else {
            throw ControlFailure(
                code: "badBookmark", message: "this is not a bookmark of hydrant's, or only a part of one")
        }
        guard let kept = self.kept.withLock({ $0 }), payload.domainID == kept.domain else {
            throw ControlFailure(
                code: ControlFailure.notMine, message: "the bookmark is of the domain \(payload.domain)")
        }
        let bytes = [UInt8](bookmark)
        let start = BookmarkPayload.headLength
        guard
            AuthenticationCode.isValid(
                bytes[BookmarkPayload.mark.count..<start], for: bytes[start...], key: kept.key)
        else {
            throw ControlFailure(
                code: "badBookmark",
                message: "the bookmark of \(payload.path) was changed since the domain \(payload.domain) made it")
        }
        return payload
    }
}

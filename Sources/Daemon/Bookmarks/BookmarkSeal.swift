import ControlAPI
import Crypto
import Foundation

/// Makes bookmarks that nobody else can make, and knows its own again.
struct BookmarkSeal: Sendable {
    let domainID: UUID
    private let key: SymmetricKey

    private struct Kept: Codable {
        var domain: UUID
        var key: Data
    }

    init(domainID: UUID, key: SymmetricKey) {
        self.domainID = domainID
        self.key = key
    }

    /// Reads the domain's key, or makes one that is on disk when this returns.
    init(keptAt path: String) throws {
        if FileManager.default.fileExists(atPath: path) {
            let kept = try JSONDecoder().decode(
                Kept.self, from: try Data(contentsOf: URL(filePath: path, directoryHint: .notDirectory)))
            self.init(domainID: kept.domain, key: SymmetricKey(data: kept.key))
            return
        }
        let key = SymmetricKey(size: .bits256)
        let kept = Kept(domain: UUID(), key: key.withUnsafeBytes { Data($0) })
        try StateFile.write(try JSONEncoder().encode(kept), to: path)
        self.init(domainID: kept.domain, key: key)
    }

    func seal(_ payload: BookmarkPayload) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let body = try encoder.encode(payload)
        return Data(BookmarkPayload.mark) + Data(HMAC<SHA256>.authenticationCode(for: body, using: key)) + body
    }

    /// - Throws: ``ControlFailure``: it is none, or another domain's, or somebody changed it.
    func open(_ bookmark: Data) throws -> BookmarkPayload {
        guard let payload = BookmarkPayload(unchecked: bookmark) else {
            throw ControlFailure(code: "badBookmark", message: "this is no bookmark of hydrant's, or a part of one")
        }
        guard payload.domainID == domainID else {
            throw ControlFailure(
                code: ControlFailure.notMine, message: "it is a bookmark of the domain \(payload.domain)")
        }
        let bytes = [UInt8](bookmark)
        let start = BookmarkPayload.headLength
        guard
            HMAC<SHA256>.isValidAuthenticationCode(
                bytes[BookmarkPayload.mark.count..<start], authenticating: bytes[start...], using: key)
        else {
            throw ControlFailure(
                code: "badBookmark",
                message: "the bookmark of \(payload.path) was changed since the domain \(payload.domain) made it")
        }
        return payload
    }
}

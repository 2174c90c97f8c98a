import FileProvider
import Hashing

/// What of a document goes into headers: SHA-256 for the signature and the server's check, MD5 because the entity tag
/// of an object that was sent whole is its MD5.
struct S3Digests: Sendable {
    let sha256: [UInt8]
    let md5: [UInt8]

    init(_ bytes: [UInt8]) {
        sha256 = Array(SHA256.hash(data: bytes))
        md5 = Array(Insecure.MD5.hash(data: bytes))
    }

    /// Reads a part of a document, without sending it.
    ///
    /// - Throws: when it ends early.
    init(_ source: any ContentSource, _ range: Range<Int64>) async throws(FileProviderError) {
        var (sha256, md5) = (SHA256(), Insecure.MD5())
        var offset = range.lowerBound
        while offset < range.upperBound {
            let bytes = try await source.readLocally(at: offset, upTo: Int(min(256 << 10, range.upperBound - offset)))
            guard !bytes.isEmpty else {
                throw FileProviderError(
                    .cannotSynchronize, "the contents end at byte \(offset), not \(range.upperBound)")
            }
            sha256.update(data: bytes)
            md5.update(data: bytes)
            offset += Int64(bytes.count)
        }
        self.sha256 = Array(sha256.finalize())
        self.md5 = Array(md5.finalize())
    }
}

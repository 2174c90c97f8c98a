import ContentStore
import Crypto
import FileProvider
import ItemCatalog

/// A snapshot as what a provider reads from.
struct SnapshotSource: ContentSource {
    let snapshot: Snapshot
    var size: Int64 { snapshot.size }

    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        do { return try snapshot.read(at: offset, upTo: count) } catch {
            throw FileProviderError(.cannotSynchronize, "cannot read the snapshot: \(error)", cause: error)
        }
    }

    /// SHA-256 and size of all of it.
    func digest() throws(ContentError) -> SentContent {
        var hasher = SHA256()
        var offset: Int64 = 0
        while offset < size {
            let bytes = try snapshot.read(at: offset, upTo: 1 << 20)
            if bytes.isEmpty { break }
            hasher.update(data: bytes)
            offset += Int64(bytes.count)
        }
        return SentContent(hash: Array(hasher.finalize()), size: size)
    }
}

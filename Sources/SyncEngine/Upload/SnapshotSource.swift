import ContentStore
import Crypto
import FileProvider
import Hashing
import ItemCatalog
import Logging
import Trees

extension StepRunner {
    /// The source of a document's upload: a small document's bytes in memory; else a copy, for which room is made as for
    /// a download; without room for a copy the local file itself, because the disk may not hold a document twice.
    ///
    /// - Throws: ``ContentError/Code/changed`` when a program is writing the document.
    func snapshot(of content: ContentFile) async throws -> Snapshot {
        if let small = try mount.store.smallSnapshot(of: content) { return small }
        if let clone = try mount.store.clone(of: content) { return clone }
        let count = try content.status().allocated
        let hasRoom = try await mount.room.beginCopy(count) {
            try mount.catalog.read { try $0.evictableBytes() }
        }
        guard hasRoom else { return try original(content) }
        defer { mount.room.end(Int(count)) }
        do { return try mount.store.snapshot(of: content) } catch {
            // Whatever the disk reports as free (a quota).
            guard error.code == .diskFull else { throw error }
            return try original(content)
        }
    }

    private func original(_ content: ContentFile) throws -> Snapshot {
        mount.logger.debug(
            "there is no room for a copy: the local file itself is sent", metadata: ["file": "\(content.id)"])
        return try mount.store.original(of: content)
    }
}

/// A snapshot as a provider's content source.
struct SnapshotSource: ContentSource {
    let snapshot: Snapshot
    var size: Int64 { snapshot.size }

    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        do { return try snapshot.read(at: offset, upTo: count) } catch {
            if error.code == .changed { throw FileProviderError(.cancelled, error.message, cause: error) }
            throw FileProviderError(.cannotSynchronize, "cannot read the snapshot: \(error)", cause: error)
        }
    }

    /// SHA-256 and size of the whole snapshot.
    func digest() throws(ContentError) -> SentContent {
        let digest = try SHA256.hash(first: size) { (offset, count) throws(ContentError) in
            try snapshot.read(at: offset, upTo: count)
        }
        return SentContent(hash: digest.map { Array($0) } ?? [], size: size)
    }
}

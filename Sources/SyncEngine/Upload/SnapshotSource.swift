import ContentStore
import FileProvider
import Hashing
import ItemCatalog
import Logging
import Trees

extension StepRunner {
    /// The source of a document's upload: a small document's bytes in memory; else a copy, for which room is made as for
    /// a download, and which is made during the upload if possible; without room for a copy the local file itself,
    /// because the disk may not hold a document twice.
    ///
    /// - Parameter room: the bytes of a growing copy, for ``DiskRoom/end(_:)`` when it is complete.
    /// - Throws: ``ContentError/Code/changed`` when a program is writing the document.
    func snapshot(of content: ContentFile) async throws -> (snapshot: Snapshot, room: Int) {
        if let small = try mount.store.smallSnapshot(of: content) { return (small, 0) }
        if let clone = try mount.store.clone(of: content) { return (clone, 0) }
        let count = try content.status().allocated
        let hasRoom = try await mount.room.beginCopy(count) {
            try mount.catalog.read { try $0.evictableBytes() }
        }
        guard hasRoom else { return (try original(content), 0) }
        var isGrowing = false
        defer { if !isGrowing { mount.room.end(Int(count)) } }
        do {
            if !uploads.preparesFirst, let growing = try mount.store.growingSnapshot(of: content) {
                isGrowing = true
                return (growing, Int(count))
            }
            return (try mount.store.snapshot(of: content), 0)
        } catch {
            // Whatever the disk reports as free (a quota).
            guard error.code == .diskFull else { throw error }
            return (try original(content), 0)
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
    let digest: SnapshotDigest
    let uploads: UploadState
    var size: Int64 { snapshot.size }

    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        do {
            let bytes = try snapshot.read(at: offset, upTo: count)
            if offset + Int64(bytes.count) >= size { try await holdBackLast() }
            return bytes
        } catch let error as ContentError where error.code == .changed {
            throw FileProviderError(.cancelled, error.message, cause: error)
        } catch is CancellationError {
            throw FileProviderError(.cancelled, "the upload was given up")
        } catch {
            throw FileProviderError(.cannotSynchronize, "cannot prepare the upload: \(error)", cause: error)
        }
    }

    /// Without its last byte the store has no document. A server does not wait for it for ever.
    private func holdBackLast() async throws {
        let began = ContinuousClock.now
        _ = try await digest.value
        if began.duration(to: .now) > Self.patience { uploads.prepareFirst() }
    }

    /// How long a server may wait for the last byte. Apache gives up after 20 s (RequestReadTimeout), nginx after 60 s
    /// (client_body_timeout).
    private static let patience = Duration.seconds(5)
}

/// SHA-256 and size of a snapshot. A large document is copied, hashed and synced while it is sent: the store has it only
/// with its last byte, which is held back until all of that is done and recorded.
enum SnapshotDigest: Sendable {
    case known(SentContent)
    case underWay(Task<SentContent, any Error>)

    /// - Throws: ``ContentError/Code/changed`` when the document is changed meanwhile.
    var value: SentContent {
        get async throws {
            switch self {
            case .known(let digest): digest
            case .underWay(let task): try await task.value
            }
        }
    }

    /// Nobody needs it any more.
    func cancel() { if case .underWay(let task) = self { task.cancel() } }
}

extension SentContent {
    /// Of the whole snapshot.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    init(_ snapshot: Snapshot) throws {
        let digest = try SHA256.hash(first: snapshot.size) { (offset, count) throws in
            try Task.checkCancellation()
            return try snapshot.read(at: offset, upTo: count)
        }
        self.init(hash: digest.map { Array($0) } ?? [], size: snapshot.size)
    }
}

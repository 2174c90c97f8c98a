import FileProvider
import Foundation
import HTTPTransport
import Logging
import Synchronization

/// The conditions that a bucket really keeps; others it ignores or refuses.
struct S3Traits: Sendable, Hashable {
    /// PUT with `If-None-Match: *`.
    var keepsAbsent = false
    /// PUT with `If-Match`.
    var keepsMatch = false
    /// `If-Match` takes the entity tag with its quotes (RFC 9110); without them on Ceph RGW.
    var quotesTags = true
    /// DELETE with `If-Match`.
    var keepsDeletion = false
    /// CopyObject with `x-amz-copy-source-if-match`.
    var keepsSource = false
    /// CopyObject with `If-None-Match: *` for its target.
    var keepsCopyTarget = false

    /// Nothing is overwritten unseen.
    var isSafe: Bool { keepsAbsent && keepsMatch }
}

/// Finds out a bucket's traits, once, before the first change: with an object of its own (`.hydrant-try-…`), for a
/// moment.
final class S3Abilities: Sendable {
    private let client: S3Client
    private let logger: Logger
    private typealias Look = Task<Result<S3Traits, FileProviderError>, Never>
    private let task = Mutex<Look?>(nil)

    init(client: S3Client, logger: Logger) {
        self.client = client
        self.logger = logger
    }

    /// The traits; those who ask at the same time share one look.
    func traits() async throws(FileProviderError) -> S3Traits {
        let running = task.withLock { task -> Look in
            if let task { return task }
            let new = Look { [self] () async -> Result<S3Traits, FileProviderError> in
                do throws(FileProviderError) { return .success(try await probe()) } catch { return .failure(error) }
            }
            task = new
            return new
        }
        let result = await running.value
        if case .failure = result { task.withLock { if $0 == running { $0 = nil } } }
        return try result.get()
    }

    private func probe() async throws(FileProviderError) -> S3Traits {
        let number = String(UInt64.random(in: 0 ... .max), radix: 36)
        let key = client.address.prefix + S3Key.Reserved.start + "try-" + number
        var traits = S3Traits()
        let first = try await put(key, "1", .absent)
        guard let tag = first.tag else {
            // Not even a condition that holds: perhaps it does not know the header.
            guard try await put(key, "1", .none).tag != nil else { throw client.failure(first.refusal, key) }
            _ = try await client.delete(key)
            logger.warning("the bucket keeps no conditions", metadata: ["bucket": "\(client.address.bucket)"])
            return traits
        }
        traits.keepsAbsent = try await put(key, "2", .absent).refusal.isMismatch
        var present = tag
        if !traits.keepsAbsent { present = try await client.head(key)?.object.entityTag ?? tag }
        let wrong = "00000000000000000000000000000000"
        let stale = try await put(key, "3", .tag(wrong))
        if let now = stale.tag { present = now }
        if stale.refusal.isMismatch {
            let quoted = try await put(key, "4", .tag(present))
            if quoted.tag != nil {
                traits.keepsMatch = true
            } else if try await put(key, "4", .tag(present), quotesTags: false).tag != nil {
                traits.keepsMatch = true
                traits.quotesTags = false
            }
        }
        present = try await client.head(key)?.object.entityTag ?? present
        if case .refused(let refusal) = try await client.copy(key, tag: wrong, to: key + "-copy", condition: .none) {
            traits.keepsSource = refusal.isMismatch
        }
        if case .success = try await client.copy(key, tag: present, to: key + "-copy", condition: .none) {
            if case .refused(let refusal) = try await client.copy(
                key, tag: present, to: key + "-copy", condition: .absent)
            {
                traits.keepsCopyTarget = refusal.isMismatch
            }
        }
        if case .refused(let refusal) = try await client.delete(key, condition: .tag(wrong)) {
            if refusal.isMismatch, case .success = try await client.delete(key, condition: .tag(present)) {
                traits.keepsDeletion = true
            }
        }
        _ = try await client.delete(key)
        _ = try await client.delete(key + "-copy")
        logger.info("the bucket's conditions", metadata: ["bucket": "\(client.address.bucket)", "kept": "\(traits)"])
        return traits
    }

    private struct Try {
        var tag: String?
        var refusal = S3Refusal(status: 0, body: [])
    }

    private func put(
        _ key: String, _ text: String, _ condition: S3Condition, quotesTags: Bool = true
    ) async throws(FileProviderError) -> Try {
        let bytes = Array(text.utf8)
        let outcome = try await client.put(
            key, .bytes(bytes), sha256: S3Digests(bytes).sha256, metadata: S3Metadata(), condition: condition,
            quotesTags: quotesTags)
        switch outcome {
        case .success(let tag): return Try(tag: tag ?? "")
        case .refused(let refusal): return Try(refusal: refusal)
        }
    }
}

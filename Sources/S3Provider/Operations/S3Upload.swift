import Crypto
import FileProvider
import HTTPTransport
import Surroundings

/// Sends one document's contents to its key, on a condition that nobody overwrites unseen.
///
/// A bucket that keeps the condition checks it itself. In any other the object is looked at before and after: what
/// somebody else puts there between the two looks is noticed, and may be overwritten.
struct S3Upload {
    let provider: S3Provider
    let path: String
    let contents: any ContentSource
    let metadata: S3Metadata
    let condition: S3Condition
    let traits: S3Traits

    private var client: S3Client { provider.client }
    private var key: String { provider.key(path) }

    enum Outcome {
        /// The object with these contents.
        case done(S3Head)
        /// The condition does not hold: this is there; nil: nothing.
        case other(S3Head?)
    }

    func run() async throws(FileProviderError) -> Outcome {
        if !isChecked, let other = try await lookBefore() { return other }
        if contents.size > provider.settings.longestPut {
            return try await S3MultipartUpload(upload: self, client: client, key: key).run()
        }
        let whole = 0..<contents.size
        let digests = try await S3Digests(contents, whole)
        let outcome = try await client.put(
            key, contents.size == 0 ? .bytes([]) : .content(contents, whole, sha256: digests.sha256),
            sha256: digests.sha256, metadata: metadata, condition: isChecked ? condition : .none,
            quotesTags: traits.quotesTags)
        return try await settle(outcome, tag: digests.md5.hexadecimal)
    }

    /// Whether the bucket itself checks the condition.
    var isChecked: Bool {
        switch condition {
        case .none: true
        case .absent: traits.keepsAbsent
        case .tag: traits.keepsMatch
        }
    }

    /// - Returns: nil: the condition holds.
    private func lookBefore() async throws(FileProviderError) -> Outcome? {
        let head = try await client.head(key)
        switch condition {
        case .none: return nil
        case .absent: return head == nil ? nil : .other(head)
        case .tag(let tag): return head?.object.entityTag == tag ? nil : .other(head)
        }
    }

    /// - Parameter tag: the entity tag that these contents have where it is their MD5.
    func settle(_ outcome: S3Client.Outcome<String?>, tag: String) async throws(FileProviderError) -> Outcome {
        switch outcome {
        case .success(let made):
            // What is there now: its date is not in the answer; and somebody else may have been quicker.
            let now = try await client.head(key)
            if let now, now.object.entityTag == (made ?? tag) { return .done(now) }
            return .other(now)
        case .refused(let refusal):
            guard [412, 404, 409].contains(refusal.status) else { throw client.failure(refusal, key) }
            // It may be what an earlier attempt sent, whose answer was lost.
            let head = try await client.head(key)
            if let head, head.object.entityTag == tag, head.object.size == contents.size, head.metadata == metadata {
                return .done(head)
            }
            return .other(head)
        }
    }
}

import FileProvider
import HTTPTransport
import Hashing
import Surroundings

/// Sends one document's contents to its key, on a condition that nobody overwrites unseen.
///
/// A bucket that keeps the condition checks it itself. In any other the object is looked at before and after: what
/// somebody else puts there between the first look and our change is overwritten unseen.
struct S3Upload {
    let provider: S3Provider
    let path: String
    let contents: any ContentSource
    let metadata: S3Metadata
    let headers: S3ObjectHeaders
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
        if !isChecked, let other = try await lookBefore() {
            if case .other(let head?) = other, try await isThere(head) { return .done(head) }
            return other
        }
        if contents.size > provider.settings.longestPut {
            return try await S3MultipartUpload(upload: self, client: client, key: key).run()
        }
        let whole = 0..<contents.size
        let digests = try await S3Digests(contents, whole)
        let outcome = try await client.put(
            key, contents.size == 0 ? .bytes([]) : .content(contents, whole, sha256: digests.sha256),
            sha256: digests.sha256, metadata: metadata, headers, condition: isChecked ? condition : .none,
            quotesTags: traits.quotesTags)
        return try await settle(outcome, tag: digests.md5.hexadecimal, sha256: digests.sha256)
    }

    /// Whether the bucket itself checks the condition.
    var isChecked: Bool { condition.isKept(absent: traits.keepsAbsent, match: traits.keepsMatch) }

    /// - Returns: nil: the condition holds.
    func lookBefore() async throws(FileProviderError) -> Outcome? {
        let head = try await client.head(key)
        switch condition {
        case .none: return nil
        case .absent: return head == nil ? nil : .other(head)
        case .tag(let tag): return head?.object.entityTag == tag ? nil : .other(head)
        }
    }

    /// Whether the object has these contents and this date already: an earlier attempt has sent them, and its answer
    /// was lost. (Reads the contents only if all else is the same.)
    func isThere(_ head: S3Head) async throws(FileProviderError) -> Bool {
        guard head.object.size == contents.size, head.metadata.modified == metadata.modified else { return false }
        if contents.size > provider.settings.longestPut {
            let parts = S3MultipartUpload(upload: self, client: client, key: key)
            guard isSent(head, try await parts.tag(), nil) else { return false }
            await parts.forget()
            return true
        }
        let digests = try await S3Digests(contents, 0..<contents.size)
        return isSent(head, digests.md5.hexadecimal, digests.sha256)
    }

    /// - Parameters:
    ///   - tag: the entity tag that these contents have where it is made from their MD5.
    ///   - sha256: of the contents, where they were sent whole.
    func settle(
        _ outcome: S3Client.Outcome<String?>, tag: String, sha256: [UInt8]?
    ) async throws(FileProviderError) -> Outcome {
        switch outcome {
        case .success(let made):
            // What is there now: its date is not in the answer; and somebody else may have been quicker.
            let now = try await client.head(key)
            guard let now, now.object.entityTag == (made ?? tag) else { return try other(now) }
            return .done(now)
        case .refused(let refusal):
            guard [412, 404, 409].contains(refusal.status) else { throw client.failure(refusal, key) }
            // It may be what an earlier attempt sent, whose answer was lost.
            let head = try await client.head(key)
            if let head, isSent(head, tag, sha256) { return .done(head) }
            if refusal.code == "NoSuchUpload" { throw S3MultipartUpload.ended(client, key) }
            if head == nil, refusal.status == 404, case .absent = condition {
                throw FileProviderError(
                    .invalidName, "\(client.describe(key)): the server takes no such name; rename it")
            }
            return try other(head)
        }
    }

    /// What is there instead of these contents.
    ///
    /// - Throws: when that is what was there before: then the answer came from something else, as a proxy, and the
    ///   change is sent again later.
    private func other(_ head: S3Head?) throws(FileProviderError) -> Outcome {
        if case .tag(let tag) = condition, head?.object.entityTag == tag {
            throw FileProviderError(
                .cannotSynchronize,
                "\(client.describe(key)): the server has not taken the change, nor another one; it is sent again"
            )
        }
        return .other(head)
    }

    func isSent(_ head: S3Head, _ tag: String, _ sha256: [UInt8]?) -> Bool {
        guard head.object.size == contents.size, head.metadata.modified == metadata.modified else { return false }
        if let sha256, case .sha256(sha256)? = head.checksum { return true }
        return head.object.entityTag == tag
    }
}

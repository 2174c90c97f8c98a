package import FileProvider
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
    /// The header of CopyObject with the entity tag that the source must have: `x-amz-copy-source-if-match`, or, in Ceph
    /// RGW, `x-amz-copy-if-match`; nil: the server keeps none.
    var sourceHeader: String?
    /// CopyObject with `If-None-Match: *` for its target.
    var keepsCopyTarget = false
    /// CopyObject with `If-Match` for its target.
    var keepsCopyMatch = false

    /// Otherwise the server takes a backslash in a key for a slash (SeaweedFS).
    var keepsBackslash = true

    /// A folder without objects stays, and HEAD finds it (SeaweedFS).
    var hasFolders = false

    /// The bucket keeps versions. (In such a bucket, Ceph RGW keeps no conditions.)
    var hasVersions = false

    /// Nothing is overwritten unseen.
    var isSafe: Bool { keepsAbsent && keepsMatch }
    var keepsSource: Bool { sourceHeader != nil }
    static let sourceHeaders = ["x-amz-copy-source-if-match", "x-amz-copy-if-match"]
}

/// What a bucket does with objects that are sent in parts.
struct S3PartTraits: Sendable, Hashable {
    /// CompleteMultipartUpload with `If-None-Match: *`.
    var keepsAbsent = false
    /// CompleteMultipartUpload with `If-Match`.
    var keepsMatch = false
    /// CopyObject gives the copy the source's entity tag.
    var copyKeepsTag = false
}

/// Finds out a bucket's traits, once, before the first change that needs them: with objects of its own
/// (`.hydrant-try-…`), for a moment.
final class S3Abilities: Sendable {
    private let client: S3Client
    private let logger: Logger
    private typealias Look<Value: Sendable> = Task<Result<Value, FileProviderError>, Never>
    private let task = Mutex<Look<S3Traits>?>(nil)
    private let found = Mutex<S3Traits?>(nil)
    private let partsTask = Mutex<Look<S3PartTraits>?>(nil)

    init(client: S3Client, logger: Logger) {
        self.client = client
        self.logger = logger
    }

    /// The traits; those who ask at the same time share one look. There is another one after somebody has told the bucket
    /// to keep versions.
    func traits() async throws(FileProviderError) -> S3Traits {
        if client.hasVersions, let known, !known.hasVersions {
            found.withLock { $0 = nil }
            task.withLock { $0 = nil }
            partsTask.withLock { $0 = nil }
        }
        return try await shared(task) { () async throws(FileProviderError) -> S3Traits in try await self.probe() }
    }

    /// The traits, if they are known already.
    var known: S3Traits? { found.withLock { $0 } }

    /// As ``traits()``, for objects that are sent in parts.
    func parts() async throws(FileProviderError) -> S3PartTraits {
        let traits = try await traits()
        return try await shared(partsTask) { () async throws(FileProviderError) -> S3PartTraits in
            try await self.probeParts(traits)
        }
    }

    private func shared<Value: Sendable>(
        _ place: borrowing Mutex<Look<Value>?>,
        _ probe: @escaping @Sendable () async throws(FileProviderError) -> Value
    ) async throws(FileProviderError) -> Value {
        let running = place.withLock { task -> Look<Value> in
            if let task { return task }
            let new = Look<Value> { () async -> Result<Value, FileProviderError> in await attempt(probe) }
            task = new
            return new
        }
        let result = await running.value
        if case .failure = result { place.withLock { if $0 == running { $0 = nil } } }
        return try result.get()
    }

    private func newKey() -> String {
        let number = String(UInt64.random(in: 0 ... .max), radix: 36)
        return client.address.prefix + S3Key.Reserved.start + "try-" + number
    }

    /// A request whose answer was lost looks like a condition that is not kept: what seems to be lacking is tried twice.
    private func probe() async throws(FileProviderError) -> S3Traits {
        await sweep()
        var traits = try await probeOnce()
        if !traits.isSafe || !traits.keepsDeletion || !traits.keepsSource || !traits.keepsCopyTarget
            || !traits.keepsCopyMatch
        {
            let second = try await probeOnce()
            traits.keepsAbsent = traits.keepsAbsent || second.keepsAbsent
            if !traits.keepsMatch { (traits.keepsMatch, traits.quotesTags) = (second.keepsMatch, second.quotesTags) }
            traits.keepsDeletion = traits.keepsDeletion || second.keepsDeletion
            traits.sourceHeader = traits.sourceHeader ?? second.sourceHeader
            traits.keepsCopyTarget = traits.keepsCopyTarget || second.keepsCopyTarget
            traits.keepsCopyMatch = traits.keepsCopyMatch || second.keepsCopyMatch
        }
        traits.hasVersions = client.hasVersions
        found.withLock { [traits] in $0 = traits }
        logger.info("the bucket's conditions", metadata: ["bucket": "\(client.address.bucket)", "kept": "\(traits)"])
        return traits
    }

    private func probeOnce() async throws(FileProviderError) -> S3Traits {
        let key = newKey()
        do throws(FileProviderError) { return try await probe(key) } catch {
            await clear(key)
            throw error
        }
    }

    /// Removes the objects of a try that broke off, if the server answers.
    private func clear(_ key: String) async {
        guard let left = try? await client.list(key, isFlat: true, limit: 10).objects else { return }
        for object in left { _ = try? await client.delete(object.key) }
        for id in (try? await client.openUploads(of: key)) ?? [] { await client.abortAnyway(id, key) }
    }

    /// Seconds. No try takes as long; and nobody goes on with an upload in parts after a month.
    private static let longest: [(kind: String, seconds: Int64)] = [("try-", 3_600), ("upload-", 30 * 86_400)]

    /// Removes what killed mounts have left.
    private func sweep() async {
        for (kind, seconds) in Self.longest {
            let start = client.address.prefix + S3Key.Reserved.start + kind
            guard let left = try? await client.list(start, isFlat: true, limit: 100).objects else { return }
            let oldest = FileTime.present.seconds - seconds
            for object in left where object.modified.seconds < oldest { _ = try? await client.delete(object.key) }
        }
    }

    private func probe(_ key: String) async throws(FileProviderError) -> S3Traits {
        var traits = S3Traits()
        let first = try await put(key, "1", .absent)
        guard let tag = first.tag else {
            // (There is no object with such a key but ours: this was sent twice.)
            if first.refusal.isMismatch {
                _ = try await client.delete(key)
                return traits
            }
            // Not even a condition that holds: perhaps it does not know the header.
            guard try await put(key, "1", .none).tag != nil else { throw client.failure(first.refusal, key) }
            try await remove(key)
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
        if var head = try await client.head(key) {
            present = head.object.entityTag
            try await probeCopy(&head, wrong, &traits)
        }
        if case .refused(let refusal) = try await client.delete(key, condition: .tag(wrong)) {
            if refusal.isMismatch, case .success = try await client.delete(key, condition: .tag(present)) {
                traits.keepsDeletion = true
            }
        }
        try await remove(key)
        traits.keepsBackslash = try await keepsBackslash(key)
        traits.hasFolders = try await hasFolders(key)
        return traits
    }

    private func probeCopy(
        _ head: inout S3Head, _ wrong: String, _ traits: inout S3Traits
    ) async throws(FileProviderError) {
        let copy = head.object.key + "-copy"
        let present = head.object.entityTag
        head.object.entityTag = wrong
        for name in S3Traits.sourceHeaders where traits.sourceHeader == nil {
            let outcome = try await client.copy(head, to: copy, condition: .none, sourceHeader: name)
            if case .refused(let refusal) = outcome, refusal.isMismatch { traits.sourceHeader = name }
        }
        head.object.entityTag = present
        // (A server that refuses every entity tag keeps no condition.)
        if let name = traits.sourceHeader,
            case .refused = try await client.copy(head, to: copy, condition: .none, sourceHeader: name)
        {
            traits.sourceHeader = nil
        }
        let name = traits.sourceHeader
        if case .success = try await client.copy(head, to: copy, condition: .none, sourceHeader: name),
            case .refused(let refusal) = try await client.copy(head, to: copy, condition: .absent, sourceHeader: name)
        {
            traits.keepsCopyTarget = refusal.isMismatch
        }
        if case .refused(let refusal) = try await client.copy(
            head, to: copy, condition: .tag(wrong), sourceHeader: name), refusal.isMismatch,
            let there = try await client.head(copy),
            case .success = try await client.copy(
                head, to: copy, condition: .tag(there.object.entityTag), sourceHeader: name)
        {
            traits.keepsCopyMatch = true
        }
        try await remove(copy)
    }

    private func hasFolders(_ key: String) async throws(FileProviderError) -> Bool {
        guard try await put(key + "/1", "1", .none).tag != nil else { return false }
        try await remove(key + "/1")
        guard try await client.head(key + "/") != nil else { return false }
        try await remove(key + "/")
        return true
    }

    private func keepsBackslash(_ key: String) async throws(FileProviderError) -> Bool {
        let key = key + "\\x"
        guard try await put(key, "1", .none).tag != nil else { return false }
        let found = try await client.list(key, isFlat: true, limit: 1).objects.contains { $0.key == key }
        try await remove(key)
        // (What such a server has made of it.)
        if !found {
            try await remove(key.replacing("\\x", with: "/x"))
            try await remove(key.replacing("\\x", with: "/"))
        }
        return found
    }

    // MARK: Parts

    /// As ``probe()``.
    private func probeParts(_ traits: S3Traits) async throws(FileProviderError) -> S3PartTraits {
        var parts = try await probePartsOnce(traits)
        if !parts.keepsAbsent || !parts.keepsMatch || !parts.copyKeepsTag {
            let second = try await probePartsOnce(traits)
            parts.keepsAbsent = parts.keepsAbsent || second.keepsAbsent
            parts.keepsMatch = parts.keepsMatch || second.keepsMatch
            parts.copyKeepsTag = parts.copyKeepsTag || second.copyKeepsTag
        }
        logger.info("the bucket's conditions for parts", metadata: ["kept": "\(parts)"])
        return parts
    }

    private func probePartsOnce(_ traits: S3Traits) async throws(FileProviderError) -> S3PartTraits {
        let key = newKey()
        do throws(FileProviderError) { return try await probeParts(key, traits) } catch {
            await clear(key)
            throw error
        }
    }

    private func probeParts(_ key: String, _ traits: S3Traits) async throws(FileProviderError) -> S3PartTraits {
        var parts = S3PartTraits()
        let wrong = "00000000000000000000000000000000"
        guard case .success = try await complete(key, .none, traits), let head = try await client.head(key) else {
            // (Perhaps it was completed, and the answer was lost.)
            await clear(key)
            return parts
        }
        if traits.keepsMatch {
            if case .refused(let refusal) = try await complete(key, .tag(wrong), traits), refusal.isMismatch,
                let now = try await client.head(key),
                case .success = try await complete(key, .tag(now.object.entityTag), traits)
            {
                parts.keepsMatch = true
            }
        }
        if case .refused(let refusal) = try await complete(key, .absent, traits) {
            parts.keepsAbsent = refusal.isMismatch
        }
        let copy = try await client.copy(
            head, to: key + "-copy", condition: .none, sourceHeader: nil)
        if case .success = copy, let made = try await client.head(key + "-copy") {
            parts.copyKeepsTag = made.object.entityTag == head.object.entityTag
        }
        try await remove(key)
        try await remove(key + "-copy")
        return parts
    }

    /// Makes an object of one part of one byte.
    private func complete(
        _ key: String, _ condition: S3Condition, _ traits: S3Traits
    ) async throws(FileProviderError) -> S3Client.Outcome<String?> {
        let id: String
        switch try await client.beginUpload(key, S3Metadata(), .own) {
        case .success(let value): id = value
        case .refused(let refusal): return .refused(refusal)
        }
        let outcome = try await client.putPart(key, id, 1, .bytes([1]), S3Digests([1]))
        guard case .success(let tag?) = outcome else {
            await client.abortAnyway(id, key)
            return outcome
        }
        let end = try await client.completeUpload(key, id, [tag], condition, quotesTags: traits.quotesTags)
        if case .refused = end { await client.abortAnyway(id, key) }
        return end
    }

    // MARK: Objects

    /// Deletes an object of ours, with the versions that the bucket has kept of it.
    private func remove(_ key: String) async throws(FileProviderError) {
        let deletion = try await client.delete(key)
        guard case .success(let mark?) = deletion else { return }
        // (Not allowed to everybody who may change the bucket: then they stay.)
        guard let listing = try? await client.versions(key) else { return }
        logger.debug("removing versions", metadata: ["key": "\(key)", "deletion": "\(mark)"])
        for version in listing.versions.prefix(Self.mostTries) where version.key == key {
            _ = try? await client.delete(key, version: version.identifier)
        }
    }

    /// The most versions that one look makes of an object.
    private static let mostTries = 32

    private struct Try {
        var tag: String?
        var refusal = S3Refusal(status: 0, body: [])
    }

    private func put(
        _ key: String, _ text: String, _ condition: S3Condition, quotesTags: Bool = true
    ) async throws(FileProviderError) -> Try {
        let bytes = Array(text.utf8)
        let outcome = try await client.put(
            key, .bytes(bytes), sha256: S3Digests(bytes).sha256, .own, condition: condition, quotesTags: quotesTags)
        switch outcome {
        case .success(let tag): return Try(tag: tag ?? "")
        case .refused(let refusal): return Try(refusal: refusal)
        }
    }
}

extension S3Provider {
    /// What the bucket does against overwriting, found out by trying; for people.
    package func describeConditions() async throws(FileProviderError) -> [String] {
        if isReadOnly { return ["everybody may read this bucket; it is mounted read-only"] }
        let traits = try await conditions.traits()
        var notes: [String] = []
        if traits.isSafe {
            notes.append("the bucket refuses to overwrite what others have changed (If-Match, If-None-Match)")
        } else {
            let lacks = [
                traits.keepsAbsent ? nil : "If-None-Match", traits.keepsMatch ? nil : "If-Match",
            ].compactMap { $0 }
            notes.append(
                "the bucket does not know \(lacks.joined(separator: " and ")): Hydrant looks at a document before and "
                    + "after it sends a change; a change by another machine between the two looks can be lost")
        }
        let parts = try await conditions.parts()
        if traits.isSafe, !parts.keepsAbsent || !parts.keepsMatch {
            notes.append(
                "it does not for documents above 16 MiB, which are sent in parts: a change by another machine in the "
                    + "moment in which the last part is joined can be lost")
        }
        if !traits.keepsSource || !traits.keepsCopyTarget {
            notes.append(
                "the bucket copies without a condition: what another machine puts at a document's new place in the moment "
                    + "in which the document is moved or copied there can be lost")
        }
        if !traits.keepsDeletion {
            notes.append(
                "the bucket deletes without a condition: a change by another machine in the same moment can be lost")
        }
        if !traits.keepsBackslash { notes.append("names with a backslash stay on this machine") }
        return notes
    }
}

import FileProvider
import Foundation
import HTTPTransport
import Hashing

/// Copies one object within the bucket, on the condition that it has not changed.
///
/// An object that was sent in parts is copied in the same parts, where a whole copy would have another entity tag: so a
/// move, or another date, does not look like new contents. Objects above 5 GiB can only be copied in parts.
///
/// Source: *Amazon S3 API Reference, CopyObject, UploadPartCopy*.
struct S3Copy {
    let provider: S3Provider
    let head: S3Head
    let target: String
    /// Nil: the copy has the source's.
    var metadata: S3Metadata?
    /// Of the target.
    let condition: S3Condition
    let traits: S3Traits

    /// In bytes: CopyObject takes no more, nor does UploadPartCopy for one part.
    static let longest: Int64 = 5 << 30

    private var client: S3Client { provider.client }
    private var source: S3Object { head.object }

    enum Outcome {
        case done(S3Head)
        /// The source has changed or is gone, or the target's condition does not hold.
        case refused
    }

    func run() async throws(FileProviderError) -> Outcome {
        let count = Self.parts(of: source.entityTag)
        let isWhole: Bool
        if source.size > Self.longest {
            isWhole = false
        } else if count == nil || source.size == 0 {
            isWhole = true
        } else {
            isWhole = try await provider.conditions.parts().copyKeepsTag
        }
        if !traits.keepsSource, try await hasChanged() { return .refused }
        return isWhole ? try await whole() : try await inParts(count)
    }

    /// For a server that does not look at the source's entity tag itself.
    private func hasChanged() async throws(FileProviderError) -> Bool {
        try await client.head(source.key)?.object.entityTag != source.entityTag
    }

    /// The number of parts in an entity tag such as `d41d8cd98f00b204e9800998ecf8427e-3`.
    static func parts(of tag: String) -> Int? {
        guard let dash = tag.lastIndex(of: "-") else { return nil }
        return Int(tag[tag.index(after: dash)...]).flatMap { (1...10_000).contains($0) ? $0 : nil }
    }

    private func whole() async throws(FileProviderError) -> Outcome {
        let isKept = condition.isKept(absent: traits.keepsCopyTarget, match: traits.keepsCopyMatch)
        // (The source's entity tag is the condition of a copy onto itself.)
        if !isKept, target != source.key, try await !holds() { return .refused }
        let outcome = try await client.copy(
            head, to: target, metadata: metadata, condition: isKept ? condition : .none,
            sourceHeader: traits.sourceHeader)
        return try await settle(outcome, tag: source.entityTag)
    }

    /// - Parameter expected: the copy's entity tag, if the server does not say it.
    private func settle(
        _ outcome: S3Client.Outcome<String?>, tag expected: String
    ) async throws(FileProviderError) -> Outcome {
        switch outcome {
        case .refused(let refusal):
            guard [412, 404, 409].contains(refusal.status) else { throw client.failure(refusal, source.key) }
            // It may be what an earlier attempt has made, whose answer was lost.
            if let made = try await client.head(target), made.isCopy(of: head, with: metadata) { return .done(made) }
            return .refused
        case .success(let tag):
            guard let copy = try await client.head(target), copy.object.entityTag == (tag ?? expected) else {
                return .refused
            }
            if traits.keepsSource { return .done(copy) }
            // The server may have copied what somebody else has put at the source meanwhile.
            let isSource = copy.object.entityTag == expected || source.size == 0 && copy.object.size == 0
            if target == source.key { return isSource ? .done(copy) : .refused }
            if isSource, try await !hasChanged() { return .done(copy) }
            try await provider.withdraw(copy, traits)
            return .refused
        }
    }

    /// For a server that does not look at the target itself.
    private func holds() async throws(FileProviderError) -> Bool {
        switch condition {
        case .none: true
        case .absent: try await client.head(target) == nil
        case .tag(let tag): try await client.head(target)?.object.entityTag == tag
        }
    }

    // MARK: Parts

    private func inParts(_ count: Int?) async throws(FileProviderError) -> Outcome {
        let size = try await partSize(count)
        let ranges = stride(from: 0, to: source.size, by: Int(size)).map { start in
            start..<min(start + size, source.size)
        }
        let begun = try await client.beginUpload(target, metadata ?? head.metadata, head.headers)
        let id: String
        switch begun {
        case .success(let value): id = value
        case .refused(let refusal): throw client.failure(refusal, target)
        }
        let tags: [String]?
        do throws(FileProviderError) { tags = try await copyParts(ranges, id) } catch {
            await client.abortAnyway(id, target)
            throw error
        }
        guard let tags else {
            await client.abortAnyway(id, target)
            return .refused
        }
        let keeps = try await provider.conditions.parts()
        let isChecked = condition.isKept(absent: keeps.keepsAbsent, match: keeps.keepsMatch)
        if !isChecked, try await !holds() {
            await client.abortAnyway(id, target)
            return .refused
        }
        let outcome = try await client.completeUpload(
            target, id, tags, isChecked ? condition : .none, quotesTags: traits.quotesTags)
        if case .refused = outcome { await client.abortAnyway(id, target) }
        return try await settle(outcome, tag: S3MultipartUpload.tag(ofParts: tags))
    }

    /// The size of the source's parts, so that the copy's entity tag is the same; else one of ours.
    private func partSize(_ count: Int?) async throws(FileProviderError) -> Int64 {
        let own = S3MultipartUpload.partSize(source.size)
        guard let count else { return own }
        func fits(_ size: Int64) -> Bool { size > 0 && (source.size + size - 1) / size == Int64(count) }
        if let first = try await client.firstPart(of: source.key, tag: source.entityTag), fits(first),
            first <= Self.longest
        {
            return first
        }
        return own
    }

    private static let atOnce = 4

    /// - Returns: the parts' entity tags; nil: the source has changed.
    private func copyParts(_ ranges: [Range<Int64>], _ id: String) async throws(FileProviderError) -> [String]? {
        let copy = { @Sendable (number: Int) async -> Result<(Int, String?), FileProviderError> in
            do throws(FileProviderError) {
                return .success((number, try await copyPart(number, ranges[number], id)))
            } catch { return .failure(error) }
        }
        let result: Result<[String]?, FileProviderError> = await withTaskGroup(
            of: Result<(Int, String?), FileProviderError>.self
        ) { group in
            var tags = [String](repeating: "", count: ranges.count)
            var next = min(Self.atOnce, ranges.count)
            for number in 0..<next { group.addTask { await copy(number) } }
            while let ended = await group.next() {
                switch ended {
                case .failure(let error):
                    group.cancelAll()
                    return .failure(error)
                case .success((_, nil)):
                    group.cancelAll()
                    return .success(nil)
                case .success((let number, let tag?)): tags[number] = tag
                }
                if next < ranges.count {
                    let number = next
                    group.addTask { await copy(number) }
                    next += 1
                }
            }
            return .success(tags)
        }
        return try result.get()
    }

    private func copyPart(
        _ number: Int, _ range: Range<Int64>, _ id: String
    ) async throws(FileProviderError) -> String? {
        let outcome = try await client.copyPart(
            head, range, to: target, id, number + 1, sourceHeader: traits.sourceHeader)
        switch outcome {
        case .success(let tag?): return tag
        case .success(nil):
            throw FileProviderError(
                .cannotSynchronize, "\(client.describe(target)): the server's answer has no entity tag")
        case .refused(let refusal):
            guard [412, 404, 409].contains(refusal.status) else { throw client.failure(refusal, source.key) }
            return nil
        }
    }
}

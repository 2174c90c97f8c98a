import Crypto
import FileProvider
import Foundation
import HTTPTransport
import Surroundings

/// Sends a large document in parts, several at a time. An upload that broke off goes on with the parts that the server
/// has.
///
/// Source: *Uploading and copying objects using multipart upload*: at most 10,000 parts, each but the last of at least
/// 5 MiB.
struct S3MultipartUpload {
    let upload: S3Upload
    let client: S3Client
    let key: String

    private static let mostParts: Int64 = 10_000
    private static let atOnce = 4

    /// In bytes: the same for every upload of a document of this size, so that a later one can go on.
    static func partSize(_ size: Int64) -> Int64 {
        let least: Int64 = 16 << 20
        let needed = (size + mostParts - 1) / mostParts
        let mebibyte: Int64 = 1 << 20
        return max(least, (needed + mebibyte - 1) / mebibyte * mebibyte)
    }

    struct Part: Sendable {
        var number: Int
        var range: Range<Int64>
        var tag = ""
        var md5: [UInt8] = []
    }

    private var parts: [Part] {
        let (size, part) = (upload.contents.size, Self.partSize(upload.contents.size))
        return stride(from: 0, to: size, by: Int(part)).enumerated().map { index, start in
            Part(number: index + 1, range: start..<min(start + part, size))
        }
    }

    func run() async throws(FileProviderError) -> S3Upload.Outcome {
        let (id, known) = try await begin()
        let result: Result<[Part], FileProviderError> = await send(id, known)
        let parts: [Part]
        do throws(FileProviderError) { parts = try result.get() } catch {
            // An upload of contents that changed is of no use; others go on later.
            if error.code != .serverUnreachable, error.code != .cannotSynchronize { await abort(id) }
            throw error
        }
        let tag = Insecure.MD5.hash(data: parts.flatMap(\.md5)).hexadecimal + "-\(parts.count)"
        let list = parts.map { part -> String in
            "<Part><PartNumber>\(part.number)</PartNumber><ETag>&quot;\(part.tag)&quot;</ETag></Part>"
        }
        let body = "<CompleteMultipartUpload>\(list.joined())</CompleteMultipartUpload>"
        let headers =
            upload.isChecked ? S3Client.headers(upload.condition, quotesTags: upload.traits.quotesTags) : []
        let request = S3Client.Request(
            method: "POST", key: key, query: [("uploadId", id)],
            headers: headers + [(name: "Content-Type", value: "application/xml")], body: .bytes(Array(body.utf8)))
        let outcome = try await client.exchange(request) { reply -> String? in
            // A completion that takes its time answers 200 at once, and says in the body what became of it.
            let answer = try await S3Client.result(reply, client.describe(key))
            return answer["CompleteMultipartUploadResult/ETag"].map { S3ListingReader.unquoted($0) }
        }
        if case .refused(let refusal) = outcome, refusal.isMismatch { await abort(id) }
        return try await upload.settle(outcome, tag: tag)
    }

    // MARK: Parts

    private func send(_ id: String, _ known: [Int: String]) async -> Result<[Part], FileProviderError> {
        await withTaskGroup(of: Result<Part, FileProviderError>.self) { group in
            var rest = parts[...]
            var done: [Part] = []
            var failure: FileProviderError?
            for part in rest.prefix(Self.atOnce) { group.addTask { await self.attemptPart(part, id, known) } }
            rest = rest.dropFirst(Self.atOnce)
            while let result = await group.next() {
                switch result {
                case .success(let part): done.append(part)
                case .failure(let error):
                    failure = failure ?? error
                    rest = []
                    group.cancelAll()
                }
                if let part = rest.popFirst() { group.addTask { await self.attemptPart(part, id, known) } }
            }
            if let failure { return .failure(failure) }
            return .success(done.sorted { $0.number < $1.number })
        }
    }

    private func attemptPart(
        _ part: Part, _ id: String, _ known: [Int: String]
    ) async -> Result<Part, FileProviderError> {
        do throws(FileProviderError) { return .success(try await send(part, id, known[part.number])) } catch {
            return .failure(error)
        }
    }

    /// - Parameter known: the entity tag of the part that the server has.
    private func send(_ part: Part, _ id: String, _ known: String?) async throws(FileProviderError) -> Part {
        var part = part
        let digests = try await S3Digests(upload.contents, part.range)
        part.md5 = digests.md5
        part.tag = digests.md5.hexadecimal
        if known == part.tag { return part }
        let request = S3Client.Request(
            method: "PUT", key: key, query: [("partNumber", "\(part.number)"), ("uploadId", id)],
            headers: [("Content-MD5", S3Client.base64(digests.md5))],
            body: .content(upload.contents, part.range, sha256: digests.sha256), isTransfer: true)
        let outcome = try await client.exchange(request) { reply -> String? in
            _ = try? await reply.prefix(64 << 10)
            return reply.field("ETag").map { S3ListingReader.unquoted($0) }
        }
        switch outcome {
        case .success(let tag):
            part.tag = tag ?? part.tag
            return part
        case .refused(let refusal): throw client.failure(refusal, key)
        }
    }

    // MARK: Beginning

    /// Begins an upload, or goes on with one that broke off.
    ///
    /// - Returns: its id, and the entity tags of the parts that the server has, by number.
    private func begin() async throws(FileProviderError) -> (String, [Int: String]) {
        for id in try await client.openUploads(of: key) {
            // (Another machine may be sending other contents to the same key just now.)
            guard let sent = try await client.parts(of: id, key), let first = sent[1], let part = parts.first,
                try await S3Digests(upload.contents, part.range).md5.hexadecimal == first
            else { continue }
            return (id, sent)
        }
        let request = S3Client.Request(
            method: "POST", key: key, query: [("uploads", nil)],
            headers: upload.metadata.headers + [(name: "Content-Type", value: "application/octet-stream")])
        let outcome = try await client.exchange(request) { reply -> String? in
            let answer = try? S3Answer(try await reply.prefix(64 << 10))
            return answer?["InitiateMultipartUploadResult/UploadId"]
        }
        switch outcome {
        case .success(let id?): return (id, [:])
        case .success(nil):
            throw FileProviderError(
                .cannotSynchronize, "\(client.describe(key)): the server began no upload in parts")
        case .refused(let refusal): throw client.failure(refusal, key)
        }
    }

    private func abort(_ id: String) async {
        // (Also when this task is cancelled.)
        let task = Task<Void, Never> { _ = try? await client.abort(id, key) }
        await task.value
    }
}

extension S3Client {
    /// Uploads in parts of exactly this key that have not been completed.
    func openUploads(of key: String) async throws(FileProviderError) -> [String] {
        let request = Request(method: "GET", query: [("uploads", nil), ("prefix", key)], retries: .always)
        let outcome = try await exchange(request) { reply -> [String] in
            guard let answer = try? S3Answer(try await reply.prefix(4 << 20)) else { return [] }
            let start = "ListMultipartUploadsResult/Upload/"
            let keys = answer.values.filter { $0.path == start + "Key" }.map(\.text)
            let ids = answer.values.filter { $0.path == start + "UploadId" }.map(\.text)
            return zip(keys, ids).filter { $0.0 == key }.map(\.1)
        }
        // (A key of its own may be allowed to write and not to list.)
        if case .success(let ids) = outcome { return ids }
        return []
    }

    /// The entity tags of an upload's parts, by number; nil: there is no such upload any more.
    func parts(of id: String, _ key: String) async throws(FileProviderError) -> [Int: String]? {
        var tags: [Int: String] = [:]
        var marker: String?
        repeat {
            var query: [(name: String, value: String?)] = [("uploadId", id)]
            if let marker { query.append(("part-number-marker", marker)) }
            let request = Request(method: "GET", key: key, query: query, retries: .always)
            let outcome = try await exchange(request) { reply -> [[String]] in
                let answer = try S3Answer(try await reply.prefix(4 << 20))
                return answer.values.map { [$0.path, $0.text] }
            }
            guard case .success(let values) = outcome else { return nil }
            func texts(_ name: String) -> [String] {
                values.filter { $0[0] == "ListPartsResult/" + name }.map { $0[1] }
            }
            for (number, tag) in zip(texts("Part/PartNumber"), texts("Part/ETag")) {
                if let number = Int(number) { tags[number] = S3ListingReader.unquoted(tag) }
            }
            let next = texts("NextPartNumberMarker").first
            marker = texts("IsTruncated").first == "true" && next != marker ? next : nil
        } while marker != nil && tags.count < 10_000
        return tags
    }

    func abort(_ id: String, _ key: String) async throws(FileProviderError) {
        _ = try await exchange(Request(method: "DELETE", key: key, query: [("uploadId", id)])) { reply -> Void in
            _ = try? await reply.prefix(64 << 10)
        }
    }
}

import FileProvider
import Foundation
import HTTPTransport
import Hashing
import Surroundings
import XMLStream

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
    /// At most, on a fast line. On a slow one, parts that are sent one after the other are there sooner, each: less is
    /// sent twice when the line breaks.
    private static let atOnce = 4
    /// One more part at a time is sent after one that took less than this, and one less after one that took twice as long.
    private static let fast = Duration.seconds(8)

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

    /// The entity tag of the object that is made of these parts, by the contents alone.
    func tag() async throws(FileProviderError) -> String {
        var read: [Part] = []
        for var part in parts {
            part.md5 = try await S3Digests(upload.contents, part.range).md5
            read.append(part)
        }
        return Self.tag(read)
    }

    private static func tag(_ parts: [Part]) -> String {
        tag(ofParts: parts.map { $0.md5.hexadecimal })
    }

    /// The entity tag of an object that is made of parts with these entity tags, which are the parts' MD5.
    static func tag(ofParts tags: [String]) -> String {
        let digits = tags.joined().utf8.map { UInt8(ascii: "0") <= $0 && $0 <= UInt8(ascii: "9") ? $0 - 48 : $0 &- 87 }
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] & 15 }
        return Insecure.MD5.hash(data: bytes).hexadecimal + "-\(tags.count)"
    }

    func run() async throws(FileProviderError) -> S3Upload.Outcome {
        let (id, known) = try await begin()
        let result: Result<[Part], FileProviderError> = await send(id, known)
        let parts: [Part]
        do throws(FileProviderError) { parts = try result.get() } catch {
            // An upload of contents that changed is of no use; others go on later.
            if error.code != .serverUnreachable, error.code != .cannotSynchronize { await giveUp(id) }
            throw error
        }
        let tag = Self.tag(parts)
        let keeps = try await upload.provider.conditions.parts()
        let isChecked = upload.condition.isKept(absent: keeps.keepsAbsent, match: keeps.keepsMatch)
        if !isChecked, let other = try await upload.lookBefore() {
            await giveUp(id)
            // (An earlier attempt has completed it, and its answer was lost.)
            if case .other(let head?) = other, upload.isSent(head, tag, nil) { return .done(head) }
            return other
        }
        let outcome = try await client.completeUpload(
            key, id, parts.map(\.tag), isChecked ? upload.condition : .none, quotesTags: upload.traits.quotesTags)
        switch outcome {
        case .refused(let refusal): if [404, 409, 412].contains(refusal.status) { await giveUp(id) }
        case .success: await forget()
        }
        let end = try await upload.settle(outcome, tag: tag, sha256: nil)
        guard !known.isEmpty, case .done(let head) = end else { return end }
        return try await withMetadata(head)
    }

    /// An upload that went on has the metadata of its beginning.
    private func withMetadata(_ head: S3Head) async throws(FileProviderError) -> S3Upload.Outcome {
        if head.metadata == upload.metadata { return .done(head) }
        let copy = S3Copy(
            provider: upload.provider, head: head, target: key, metadata: upload.metadata,
            condition: .tag(head.object.entityTag),
            traits: upload.traits)
        switch try await copy.run() {
        case .done(let new): return .done(new)
        case .refused: return .other(try await client.head(key))
        }
    }

    // MARK: Parts

    private func send(_ id: String, _ known: [Int: String]) async -> Result<[Part], FileProviderError> {
        await withTaskGroup(of: Attempt.self) { group in
            var rest = parts[...]
            var done: [Part] = []
            var failure: FileProviderError?
            var (width, running) = (1, 0)
            while true {
                while running < width, let part = rest.popFirst() {
                    group.addTask { await self.attemptPart(part, id, known) }
                    running += 1
                }
                guard let attempt = await group.next() else { break }
                running -= 1
                switch attempt.result {
                case .success(let part):
                    done.append(part)
                    // (A part that the server has took no time.)
                    if known[part.number] != nil { continue }
                    if attempt.took < Self.fast { width = min(width + 1, Self.atOnce) }
                    if attempt.took > Self.fast * 2 { width = max(width - 1, 1) }
                case .failure(let error):
                    failure = failure ?? error
                    rest = []
                    group.cancelAll()
                }
            }
            if let failure { return .failure(failure) }
            return .success(done.sorted { $0.number < $1.number })
        }
    }

    private struct Attempt: Sendable {
        var result: Result<Part, FileProviderError>
        var took: Duration
    }

    private func attemptPart(_ part: Part, _ id: String, _ known: [Int: String]) async -> Attempt {
        let began = ContinuousClock.now
        let result: Result<Part, FileProviderError>
        do throws(FileProviderError) { result = .success(try await send(part, id, known[part.number])) } catch {
            result = .failure(error)
        }
        return Attempt(result: result, took: began.duration(to: .now))
    }

    /// - Parameter known: the entity tag of the part that the server has.
    private func send(_ part: Part, _ id: String, _ known: String?) async throws(FileProviderError) -> Part {
        var part = part
        let digests = try await S3Digests(upload.contents, part.range)
        part.md5 = digests.md5
        part.tag = digests.md5.hexadecimal
        if known == part.tag { return part }
        let outcome = try await client.putPart(
            key, id, part.number, .content(upload.contents, part.range, sha256: digests.sha256), digests)
        switch outcome {
        case .success(let tag):
            part.tag = tag ?? part.tag
            return part
        case .refused(let refusal):
            if refusal.code == "NoSuchUpload" { throw Self.ended(client, key) }
            throw client.failure(refusal, key)
        }
    }

    static func ended(_ client: S3Client, _ key: String) -> FileProviderError {
        FileProviderError(
            .busy, "\(client.describe(key)): the upload in parts was ended by somebody else; it is sent again")
    }

    // MARK: Beginning

    /// An object with the id of the upload, until it ends: only what this mount has begun itself goes on, or is given up.
    var mark: String {
        let machine = (try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8)) ?? ""
        let mount = upload.provider.catalog?.documentStorageURL.path ?? ""
        let hash = SHA256.hash(data: Array("\(machine)\n\(mount)\n\(key)".utf8)).hexadecimal
        return upload.provider.address.prefix + S3Key.Reserved.start + "upload-\(hash.prefix(32))"
    }

    /// Begins an upload, or goes on with one that broke off.
    ///
    /// - Returns: its id, and the entity tags of the parts that the server has, by number.
    private func begin() async throws(FileProviderError) -> (String, [Int: String]) {
        if let id = try await begun() {
            if let sent = try await client.parts(of: id, key), let first = sent[1], let part = parts.first,
                try await S3Digests(upload.contents, part.range).md5.hexadecimal == first
            {
                return (id, sent)
            }
            await client.abortAnyway(id, key)
        }
        let id: String
        switch try await client.beginUpload(key, upload.metadata, upload.headers) {
        case .success(let value): id = value
        case .refused(let refusal): throw client.failure(refusal, key)
        }
        do throws(FileProviderError) {
            let text = Array(id.utf8)
            let outcome = try await client.put(
                mark, .bytes(text), sha256: S3Digests(text).sha256, S3ObjectHeaders.own, condition: .none)
            if case .refused(let refusal) = outcome { throw client.failure(refusal, mark) }
        } catch {
            await client.abortAnyway(id, key)
            throw error
        }
        return (id, [:])
    }

    /// The id of the upload that this mount has begun; nil: there is none.
    private func begun() async throws(FileProviderError) -> String? {
        let outcome = try await client.exchange(
            S3Client.Request(method: "GET", key: mark, retries: .always)
        ) { reply -> String in String(decoding: try await reply.prefix(4 << 10), as: UTF8.self) }
        switch outcome {
        case .success(let id): return id.isEmpty ? nil : id
        case .refused(let refusal):
            // (403: Amazon's answer to a key that may not list.)
            if [403, 404].contains(refusal.status) { return nil }
            throw client.failure(refusal, mark)
        }
    }

    /// Also when this task is cancelled.
    private func giveUp(_ id: String) async {
        await client.abortAnyway(id, key)
        await Task { await forget() }.value
    }

    /// Nothing goes on any more.
    func forget() async { _ = try? await upload.provider.remove(mark) }
}

extension S3Client {
    /// CreateMultipartUpload.
    ///
    /// - Returns: the upload's id.
    func beginUpload(
        _ key: String, _ metadata: S3Metadata, _ object: S3ObjectHeaders
    ) async throws(FileProviderError) -> Outcome<String> {
        let request = Request(
            method: "POST", key: key, query: [("uploads", nil)], headers: metadata.headers + object.headers)
        return try await exchange(request) { reply -> String in
            let answer = try? S3Answer(try await reply.prefix(64 << 10))
            guard let id = answer?["InitiateMultipartUploadResult/UploadId"], !id.isEmpty else {
                throw FileProviderError(.cannotSynchronize, "\(describe(key)): the server began no upload in parts")
            }
            return id
        }
    }

    /// UploadPart.
    ///
    /// - Returns: the part's entity tag.
    func putPart(
        _ key: String, _ id: String, _ number: Int, _ body: Request.Body, _ digests: S3Digests
    ) async throws(FileProviderError) -> Outcome<String?> {
        let request = Request(
            method: "PUT", key: key, query: [("partNumber", "\(number)"), ("uploadId", id)],
            headers: [("Content-MD5", Self.base64(digests.md5))], body: body, isTransfer: true)
        return try await exchange(request) { reply -> String? in
            _ = try? await reply.prefix(64 << 10)
            return Self.tag(reply.field("ETag"))
        }
    }

    /// CompleteMultipartUpload.
    ///
    /// - Parameter tags: the parts' entity tags, in order.
    /// - Returns: the object's entity tag.
    func completeUpload(
        _ key: String, _ id: String, _ tags: [String], _ condition: S3Condition, quotesTags: Bool
    ) async throws(FileProviderError) -> Outcome<String?> {
        let list = tags.enumerated().map { index, tag -> String in
            // (An entity tag is the server's text.)
            let plain = XMLStream.escaped(tag)
            return "<Part><PartNumber>\(index + 1)</PartNumber><ETag>&quot;\(plain)&quot;</ETag></Part>"
        }
        let body = "<CompleteMultipartUpload>\(list.joined())</CompleteMultipartUpload>"
        let request = Request(
            method: "POST", key: key, query: [("uploadId", id)],
            headers: Self.headers(condition, quotesTags: quotesTags) + [
                (name: "Content-Type", value: "application/xml")
            ], body: .bytes(Array(body.utf8)), takesLong: true)
        return try await exchange(request) { reply -> String? in
            // A completion that takes its time answers 200 at once, and says in the body what became of it.
            let answer = try await Self.result(reply, describe(key))
            return Self.tag(answer["CompleteMultipartUploadResult/ETag"])
        }
    }

    /// The size of an object's first part; nil: the server does not say.
    func firstPart(of key: String, tag: String) async throws(FileProviderError) -> Int64? {
        let request = Request(
            method: "HEAD", key: key, query: [("partNumber", "1")], headers: [("If-Match", "\"\(tag)\"")],
            retries: .always)
        let outcome = try await exchange(request) { reply -> Int64? in
            reply.field("x-amz-mp-parts-count") == nil ? nil : reply.contentLength
        }
        if case .success(let size) = outcome { return size }
        return nil
    }

    /// Also when this task is cancelled, and whatever the server answers.
    func abortAnyway(_ id: String, _ key: String) async {
        let task = Task<Void, Never> { _ = try? await abort(id, key) }
        await task.value
    }

    /// Uploads in parts of exactly this key that have not been completed, whoever has begun them.
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
        var rounds = 0
        repeat {
            rounds += 1
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
        } while marker != nil && tags.count < 10_000 && rounds < 100
        return tags
    }

    func abort(_ id: String, _ key: String) async throws(FileProviderError) {
        _ = try await exchange(Request(method: "DELETE", key: key, query: [("uploadId", id)])) { reply -> Void in
            _ = try? await reply.prefix(64 << 10)
        }
    }
}

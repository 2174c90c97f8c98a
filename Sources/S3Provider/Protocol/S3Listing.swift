import FileProvider
import Foundation
import HTTPTransport
import NIOCore
import XMLStream

/// An object as a listing or the head of an answer has it.
struct S3Object: Hashable, Sendable {
    /// With the mounted prefix.
    var key: String
    /// In bytes.
    var size: Int64
    /// Without quotes.
    var entityTag: String
    /// When the object was made. Servers give seconds, or milliseconds.
    var modified: FileTime
    /// Nil: not said; `STANDARD` mostly.
    var storageClass: String?
}

/// A part of a listing, at most 1,000 keys (ListObjectsV2).
struct S3Listing: Sendable {
    var objects: [S3Object] = []
    /// Keys up to the delimiter, which stands for all that begin with it.
    var prefixes: [String] = []
    /// Where the next part begins; nil: this is the last one.
    var next: String?
    /// Entries that cannot be read, for people.
    var unreadable: [String] = []
}

/// Reads the answer to ListObjectsV2, with `encoding-type=url`: a key may have characters that XML lacks. A server that
/// does not know this says no `EncodingType`, and sends keys as they are.
///
/// Source: *Amazon S3 API Reference, ListObjectsV2*.
struct S3ListingReader {
    private var entry: [String: String] = [:]
    private var entries: [[String: String]] = []
    private var prefixes: [String] = []
    private var isEncoded = false
    private var isTruncated = false
    private var token: String?
    private var hasRoot = false

    /// - Throws: ``BadXML``.
    static func read(_ bytes: [UInt8]) throws -> S3Listing {
        var reader = S3ListingReader()
        var bytes = bytes
        let controls = ControlReferences(in: &bytes)
        var path: [String] = []
        var text: [UInt8] = []
        let stream = XMLStream(
            began: { name in
                path.append(String(String(cString: name).split(separator: "|").last ?? ""))
                text = []
            },
            text: { text += $0 },
            ended: {
                let name = path.removeLast()
                try reader.ended(name, controls.restore(text), path.count, path.last ?? "")
                text = []
            })
        try bytes.withUnsafeBytes { try stream.feed($0, isLast: true) }
        return try reader.finish()
    }

    private static let mostEntries = 10_000

    private mutating func ended(_ name: String, _ text: [UInt8], _ depth: Int, _ parent: String) throws {
        let value = String(decoding: text, as: UTF8.self)
        switch (depth, parent, name) {
        case (0, _, "ListBucketResult"): hasRoot = true
        case (1, _, "EncodingType"): isEncoded = value == "url"
        case (1, _, "IsTruncated"): isTruncated = value == "true"
        case (1, _, "NextContinuationToken"): token = value
        case (2, "Contents", _): entry[name] = value
        case (2, "CommonPrefixes", "Prefix"): prefixes.append(value)
        case (1, _, "Contents"):
            entries.append(entry)
            entry = [:]
        default: break
        }
        guard entries.count + prefixes.count <= Self.mostEntries else {
            throw BadXML("it has more than 10,000 entries in one part")
        }
    }

    private func object(_ entry: [String: String]) -> S3Object? {
        guard let key = decoded(entry["Key"] ?? ""), let size = entry["Size"].flatMap({ Int64($0) }), size >= 0,
            let date = entry["LastModified"].flatMap({ Self.date($0) }), let tag = entry["ETag"]
        else { return nil }
        return S3Object(
            key: key, size: size, entityTag: Self.unquoted(tag), modified: date, storageClass: entry["StorageClass"])
    }

    private func finish() throws -> S3Listing {
        guard hasRoot else { throw BadXML("it is no listing of a bucket") }
        var listing = S3Listing()
        var unreadable: [String] = []
        for entry in entries {
            if let object = object(entry) {
                listing.objects.append(object)
            } else {
                unreadable.append(entry["Key"] ?? "")
            }
        }
        for prefix in prefixes {
            if let plain = decoded(prefix) { listing.prefixes.append(plain) } else { unreadable.append(prefix) }
        }
        listing.unreadable = Array(unreadable.prefix(100))
        if isTruncated {
            guard let token, !token.isEmpty else { throw BadXML("it has no mark for its next part") }
            listing.next = token
        }
        return listing
    }

    static func unquoted(_ tag: String) -> String {
        tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.utf8.count > 1 ? String(tag.dropFirst().dropLast()) : tag
    }

    private func decoded(_ text: String) -> String? {
        isEncoded ? Self.decodedForm(text) : text
    }

    /// A key in the coding of `encoding-type=url`; nil: it is no UTF-8. Spaces are `+` in some servers' coding, and `%20`
    /// in others'; a plus sign is `%2B` in all.
    static func decodedForm(_ text: String) -> String? {
        let plain = text.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        guard let bytes = PercentCoding.decode(plain) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// `2009-10-12T17:50:30.000Z`, with the fraction.
    static func date(_ text: String) -> FileTime? {
        guard let seconds = HTTPDate.parse(text) else { return nil }
        guard let point = text.firstIndex(of: ".") else { return FileTime(seconds: seconds) }
        let digits = text[text.index(after: point)...].prefix { $0.isASCII && $0.isNumber }.prefix(9)
        let scale = String(digits) + String(repeating: "0", count: 9 - digits.count)
        return FileTime(seconds: seconds, nanoseconds: Int64(scale) ?? 0)
    }
}

extension S3Client {
    /// One part of a listing.
    ///
    /// - Parameters:
    ///   - isFlat: all keys below the prefix, instead of those up to the next slash.
    ///   - token: ``S3Listing/next`` of the part before.
    func list(
        _ prefix: String, isFlat: Bool = false, from token: String? = nil, limit: Int = 1_000
    ) async throws(FileProviderError) -> S3Listing {
        var query: [(name: String, value: String?)] = [
            ("list-type", "2"), ("encoding-type", "url"), ("prefix", prefix), ("max-keys", "\(limit)"),
        ]
        if !isFlat { query.append(("delimiter", "/")) }
        if let token { query.append(("continuation-token", token)) }
        let request = Request(method: "GET", query: query, retries: .always)
        let outcome = try await exchange(request) { reply -> S3Listing in
            let start = ContinuousClock.now
            var bytes: [UInt8] = []
            for try await buffer in reply.body {
                bytes += buffer.readableBytesView
                guard bytes.count <= Self.longestListing, start.duration(to: .now) < .seconds(listingTimeout) else {
                    break
                }
            }
            do { return try S3ListingReader.read(bytes) } catch {
                throw FileProviderError(
                    .cannotSynchronize, "\(describe(prefix)): the server's listing cannot be read: \(error)")
            }
        }
        switch outcome {
        case .success(let listing): return listing
        case .refused(let refusal): throw failure(refusal, prefix)
        }
    }

    /// In bytes, of one part.
    static let longestListing = 16 << 20
}

import FileProvider
import Foundation
import HTTPTransport
import NIOCore
import XMLStream

/// A version of an object, or the mark of its deletion.
struct S3ObjectVersion: Hashable, Sendable {
    var key: String
    /// `null` for an object from before the bucket's versioning.
    var identifier: String
    var isLatest: Bool
    /// Nil: the mark of a deletion.
    var object: S3Object?
    /// When the deletion was marked.
    var deleted: FileTime?
    /// The name of the account that wrote it.
    var owner: String?

    var isDeletion: Bool { object == nil }
}

/// A part of a listing of versions: the newest version of a key comes first.
///
/// Source: *Amazon S3 API Reference, ListObjectVersions*.
struct S3VersionListing: Sendable {
    /// The last entry of a part.
    struct Mark: Hashable, Sendable {
        var key: String
        var version: String?
    }
    var versions: [S3ObjectVersion] = []
    /// Nil: this is the last part.
    var next: Mark?

    private static let mostEntries = 10_000

    /// - Throws: ``BadXML``.
    init(_ bytes: [UInt8]) throws {
        var bytes = bytes
        let controls = ControlReferences(in: &bytes)
        var path: [String] = []
        var text: [UInt8] = []
        var entry: [String: String] = [:]
        var fields: [String: String] = [:]
        var (versions, hasRoot): ([S3ObjectVersion], Bool) = ([], false)
        let stream = XMLStream(
            began: { name in
                path.append(String(String(cString: name).split(separator: "|").last ?? ""))
                text = []
            },
            text: { text += $0 },
            ended: {
                let name = path.removeLast()
                let value = String(decoding: controls.restore(text), as: UTF8.self)
                text = []
                switch (path.count, path.last ?? "", name) {
                case (0, _, "ListVersionsResult"): hasRoot = true
                case (1, _, "Version"), (1, _, "DeleteMarker"):
                    guard versions.count < Self.mostEntries else {
                        throw BadXML("it has more than \(Self.mostEntries) entries in one part")
                    }
                    if let version = Self.version(entry, isDeletion: name == "DeleteMarker") {
                        versions.append(version)
                    }
                    entry = [:]
                case (1, _, _): fields[name] = value
                case (2, "Version", _), (2, "DeleteMarker", _), (3, "Owner", _): entry[name] = value
                default: break
                }
            })
        try bytes.withUnsafeBytes { try stream.feed($0, isLast: true) }
        guard hasRoot else { throw BadXML("it is no listing of versions") }
        let isEncoded = fields["EncodingType"] == "url"
        func plain(_ key: String) -> String? { isEncoded ? S3ListingReader.decodedForm(key) : key }
        self.versions = versions.compactMap { version in
            guard let key = plain(version.key) else { return nil }
            var version = version
            version.key = key
            version.object?.key = key
            return version
        }
        if fields["IsTruncated"] == "true" {
            guard let key = fields["NextKeyMarker"].flatMap(plain), !key.isEmpty else {
                throw BadXML("it has no mark for its next part")
            }
            next = Mark(key: key, version: fields["NextVersionIdMarker"].flatMap { $0.isEmpty ? nil : $0 })
        }
    }

    private static func version(_ entry: [String: String], isDeletion: Bool) -> S3ObjectVersion? {
        guard let key = entry["Key"], let identifier = entry["VersionId"],
            (1...DocumentVersion.longestIdentifier).contains(identifier.utf8.count)
        else { return nil }
        var version = S3ObjectVersion(
            key: key, identifier: identifier, isLatest: entry["IsLatest"] == "true",
            owner: entry["DisplayName"].flatMap { $0.isEmpty ? nil : $0 })
        let moment = entry["LastModified"].flatMap { S3ListingReader.date($0) }
        if isDeletion {
            version.deleted = moment
            return version
        }
        guard let size = entry["Size"].flatMap({ Int64($0) }), size >= 0, let tag = entry["ETag"],
            let date = moment
        else { return nil }
        version.object = S3Object(
            key: key, size: size, entityTag: S3ListingReader.unquoted(tag), modified: date,
            storageClass: entry["StorageClass"])
        return version
    }
}

extension S3Client {
    /// A part of the versions of a key, and of the keys that begin with it.
    func versions(
        _ key: String, from mark: S3VersionListing.Mark? = nil
    ) async throws(FileProviderError) -> S3VersionListing {
        var query: [(name: String, value: String?)] = [
            ("versions", nil), ("encoding-type", "url"), ("prefix", key), ("max-keys", "1000"),
        ]
        if let mark {
            query.append(("key-marker", mark.key))
            if let version = mark.version { query.append(("version-id-marker", version)) }
        }
        let request = Request(method: "GET", query: query, retries: .always)
        let outcome = try await exchange(request) { reply -> S3VersionListing in
            let bytes = try await reply.prefix(Self.longestListing + 1)
            do { return try S3VersionListing(bytes) } catch {
                throw FileProviderError(
                    .cannotSynchronize, "\(describe(key)): the server's list of versions cannot be read: \(error)")
            }
        }
        switch outcome {
        case .success(let listing): return listing
        case .refused(let refusal):
            guard ![400, 405, 501].contains(refusal.status) else {
                throw FileProviderError(.unsupported, "the server of this bucket lists no versions")
            }
            throw failure(refusal, key)
        }
    }
}

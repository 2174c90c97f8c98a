import FileProvider
import Foundation
import HTTPTransport
import UniformTypes

/// What a server keeps of an object besides its contents and `x-amz-meta-…`: its media type, its storage class, its
/// encryption. A change of ours keeps it: a copy with new metadata, and new contents, would otherwise lose it.
///
/// Source: *Amazon S3 API Reference, PutObject, CopyObject* (request headers), *HeadObject* (the same in an answer).
struct S3ObjectHeaders: Hashable, Sendable {
    private(set) var values: [String: String] = [:]

    private static let kept = [
        "content-type", "content-encoding", "content-language", "content-disposition", "cache-control", "expires",
        "x-amz-storage-class", "x-amz-website-redirect-location", "x-amz-server-side-encryption",
        "x-amz-server-side-encryption-aws-kms-key-id", "x-amz-server-side-encryption-bucket-key-enabled",
    ]
    /// In bytes, of one value.
    private static let longest = 2_048

    /// A new document's: the media type of its name.
    init(newDocument name: Filename) {
        let table = UniformTypeTable.system
        let type = table.mimeType(of: table.type(ofFilename: name.description)) ?? "application/octet-stream"
        self.init(type: type)
    }

    private init(type: String) { values["content-type"] = type }

    /// Of a folder's marker, as s3fs and others write it.
    static let folder = S3ObjectHeaders(type: "application/x-directory")
    /// Of objects that belong to Hydrant.
    static let own = S3ObjectHeaders(type: "application/octet-stream")

    /// From the head of an answer.
    init(_ reply: HTTPReply) {
        for name in Self.kept {
            guard let value = reply.field(name), !value.isEmpty, value.utf8.count <= Self.longest else { continue }
            values[name] = value
        }
        // The coding of a transfer, which some servers keep as if it were the document's.
        if let coding = values["content-encoding"] {
            let rest = coding.split(separator: ",").map { String($0).trimmingASCIIWhitespace() }
                .filter { $0.lowercased() != "aws-chunked" }
            values["content-encoding"] = rest.isEmpty ? nil : rest.joined(separator: ",")
        }
        // New contents in an archive could not be read.
        if let storage = values["x-amz-storage-class"], Self.archives.contains(storage) {
            values["x-amz-storage-class"] = nil
        }
    }

    static let archives: Set<String> = ["GLACIER", "DEEP_ARCHIVE"]

    /// For a request.
    var headers: [(name: String, value: String)] {
        values.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    }
}

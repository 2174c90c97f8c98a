import FileProvider
import Hashing
import Surroundings

/// The versions of an object. The contents' is the entity tag. The metadata's says all that a listing does not, so that
/// a document that the catalog knows costs no request of its own when its folder is listed again:
/// `LAST-MODIFIED MTIME MODE MORE`, with `-` for what is not there.
struct S3Version: Hashable {
    /// In seconds since 1970: the date that the server gives the object.
    var stored: Int64
    var modified: FileTime?
    var mode: UInt32?
    /// There are attributes, or it is a link: that has to be asked for.
    var hasMore: Bool

    static func content(_ entityTag: String) -> ContentVersion { ContentVersion(entityTag) }

    static func metadata(_ object: S3Object, _ metadata: S3Metadata) -> MetadataVersion {
        var more = "-"
        if metadata.attributes != [:] || metadata.isSymbolicLink {
            let attributes = metadata.attributes.map { S3Metadata.text($0) } ?? "elsewhere"
            let text = attributes + (metadata.isSymbolicLink ? "l" : "")
            more = String(SHA256.hash(data: Array(text.utf8)).hexadecimal.prefix(16))
        }
        let mode = metadata.mode.map { String($0, radix: 8) } ?? "-"
        let modified = metadata.modified.map { S3Metadata.text($0) } ?? "-"
        return MetadataVersion("\(object.modified.seconds) \(modified) \(mode) \(more)")
    }

    /// Nil: not such a version.
    init?(_ version: MetadataVersion) {
        let parts = version.description.split(separator: " ").map(String.init)
        guard parts.count == 4, let seconds = Int64(parts[0]) else { return nil }
        stored = seconds
        modified = parts[1] == "-" ? nil : S3Metadata.date(parts[1])
        mode = parts[2] == "-" ? nil : UInt32(parts[2], radix: 8)
        hasMore = parts[3] != "-"
    }
}

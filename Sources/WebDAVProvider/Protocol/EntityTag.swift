import FileProvider
import HTTPTransport

/// Distinguishes the versions of a document, as the server reports them.
enum Validator: Hashable, Sendable {
    /// An entity tag without its quotes (RFC 9110, 8.8.3), weak or not: Apache calls a tag weak while the document is less
    /// than a second old, and the same one strong from then on.
    case tag(String)
    /// A tag, and the checksum of the contents: for ownCloud and Nextcloud, where two versions within one second may
    /// share a tag.
    case summed(String, String)
    /// For a server without tags: seconds since 1970 of the last change, and the size in bytes. It does not distinguish
    /// two changes within one second that keep the size.
    case dateAndSize(Int64, Int64)

    init?(tag: String) {
        var text = tag.trimmingASCIIWhitespace().utf8[...]
        if text.starts(with: "W/".utf8) { text = text.dropFirst(2) }
        // WsgiDAV omits the quotes in a listing, but not in an answer's head.
        let quote = UInt8(ascii: "\"")
        if text.count >= 2, text.first == quote, text.last == quote { text = text.dropFirst().dropLast() }
        // A tag must be usable in a header.
        guard !text.isEmpty, text.allSatisfy({ $0 > 32 && $0 < 127 && $0 != quote }) else { return nil }
        self = .tag(String(Substring(text)))
    }

    init?(_ version: ContentVersion) {
        let text = version.description
        if text.hasPrefix("t") {
            self = .tag(String(text.dropFirst()))
        } else if text.hasPrefix("s"), let end = text.firstIndex(of: ";") {
            self = .summed(String(text[text.index(after: end)...]), String(text[..<end].dropFirst()))
        } else {
            let parts = text.dropFirst().split(separator: ";")
            guard text.hasPrefix("d"), parts.count == 2, let date = Int64(parts[0]), let size = Int64(parts[1]) else {
                return nil
            }
            self = .dateAndSize(date, size)
        }
    }

    var version: ContentVersion {
        switch self {
        case .tag(let tag): ContentVersion("t" + tag)
        case .summed(let tag, let checksum): ContentVersion("s\(checksum);\(tag)")
        case .dateAndSize(let date, let size): ContentVersion("d\(date);\(size)")
        }
    }

    /// The header that makes a change conditional on this version (RFC 9110, 13.1.1 and 13.1.4).
    var condition: (name: String, value: String) {
        switch self {
        case .tag(let tag), .summed(let tag, _): ("If-Match", "\"\(tag)\"")
        case .dateAndSize(let date, _): ("If-Unmodified-Since", HTTPDate.format(date))
        }
    }

    /// The same for the target of a MOVE (RFC 4918, 10.4); nil: not possible.
    func condition(at place: HTTPLocation) -> (name: String, value: String)? {
        switch self {
        case .tag(let tag), .summed(let tag, _): ("If", "<\(place.path)> ([\"\(tag)\"])")
        case .dateAndSize: nil
        }
    }

    /// The checksum of the contents, where the server has one.
    var checksum: String? {
        if case .summed(_, let checksum) = self { checksum } else { nil }
    }

    /// Whether both are about the same contents for certain, although a tag may be another one: Nextcloud gives a document
    /// another tag when somebody locks it.
    func isOfSameContents(as other: Validator) -> Bool {
        if self == other { return true }
        guard let checksum, checksum == other.checksum else { return false }
        return ["SHA1:", "SHA256:"].contains { checksum.uppercased().hasPrefix($0) }
    }

    func with(checksum: String?) -> Validator {
        if case .tag(let tag) = self, let checksum { .summed(tag, checksum) } else { self }
    }
}

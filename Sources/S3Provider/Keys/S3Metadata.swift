import FileProvider
import Foundation
import HTTPTransport
import NIOHTTP1

/// Dates, modes, links and extended attributes in an object's own metadata (`x-amz-meta-…`), in the forms of s3fs, of
/// which rclone reads and writes the date.
///
/// Source: s3fs-fuse (`doc/man/s3fs.1`, `x-amz-meta-mtime`, `-mode`, `-xattr`), rclone.org/s3 (“Modification times”).
struct S3Metadata: Hashable, Sendable {
    /// `x-amz-meta-mtime`: seconds since 1970, with a fraction.
    var modified: FileTime?
    /// `x-amz-meta-mode`: type and permission bits.
    var mode: UInt32?
    /// `x-amz-meta-xattr`; nil: there was no room for them, and they stay on the machine that has them
    /// (`x-amz-meta-hydrant-xattr: elsewhere`).
    private(set) var attributes: [String: [UInt8]]? = [:]
    /// Entries of `x-amz-meta-xattr` that a document cannot have here (`system.…`), as they came: by name, in base64.
    /// Every change of ours keeps them.
    private(set) var foreign: [String: String] = [:]
    /// What other programs have put there, by name without `x-amz-meta-`; kept by every change of ours.
    var others: [String: String] = [:]

    private static let prefix = "x-amz-meta-"
    private static let elsewhere = "hydrant-xattr"
    private static let symbolicLink: UInt32 = 0o120000
    private static let document: UInt32 = 0o100000
    private static let kind: UInt32 = 0o170000
    /// In bytes, of all names and values (*Working with object metadata*).
    private static let limit = 2_048
    /// As much is used for attributes.
    private static let most = 2_000

    var isSymbolicLink: Bool { mode.map { $0 & Self.kind == Self.symbolicLink } ?? false }
    var permissions: UInt16? { mode.map { UInt16($0 & 0o1777) } }

    init() {}

    init(modified: FileTime, permissions: UInt16?, attributes: [String: [UInt8]]?, isSymbolicLink: Bool = false) {
        self.modified = modified
        if let permissions {
            mode = (isSymbolicLink ? Self.symbolicLink : Self.document) | UInt32(permissions & 0o1777)
        } else if isSymbolicLink {
            mode = Self.symbolicLink | 0o777
        }
        keep(attributes ?? [:])
    }

    /// From now on the document has these attributes, if there is room for them.
    mutating func keep(_ attributes: [String: [UInt8]]) {
        self.attributes = attributes
        if Self.size(values) > Self.most { self.attributes = nil }
    }

    /// From the head of an answer.
    init(_ reply: HTTPReply) { self.init(reply.headers.map { (name: $0.name, value: $0.value) }) }

    init(_ fields: [(name: String, value: String)]) {
        var areElsewhere = false
        for (name, value) in fields {
            let name = name.lowercased()
            guard name.hasPrefix(Self.prefix) else { continue }
            let key = String(name.dropFirst(Self.prefix.count))
            switch key {
            // (What cannot be read stays as it is, until there is something of ours instead.)
            case "mtime":
                modified = Self.date(value)
                if modified == nil { others[key] = value }
            case "mode":
                mode = Self.mode(value)
                if mode == nil { others[key] = value }
            case "xattr":
                if let entries = Self.entries(value) {
                    attributes = entries.attributes
                    foreign = entries.foreign
                } else {
                    others[key] = value
                }
            case Self.elsewhere: areElsewhere = value == "elsewhere"
            default: others[key] = value
            }
        }
        if areElsewhere { attributes = nil }
    }

    /// For a request.
    var headers: [(name: String, value: String)] {
        values.sorted { $0.key < $1.key }.map { (name: Self.prefix + $0.key, value: $0.value) }
    }

    private var values: [String: String] {
        var values = others
        if let modified { values["mtime"] = Self.text(modified) }
        if let mode { values["mode"] = String(mode) }
        if attributes == nil { values[Self.elsewhere] = "elsewhere" }
        let entries = foreign.merging((attributes ?? [:]).mapValues { Data($0).base64EncodedString() }) { $1 }
        if !entries.isEmpty { values["xattr"] = Self.text(entries) }
        // Others may have left no room: what a server refuses would never be sent.
        for name in ["mode", "mtime"] where others[name] == nil && Self.size(values) > Self.limit { values[name] = nil }
        return values
    }

    /// In bytes, as a server counts it.
    private static func size(_ values: [String: String]) -> Int {
        values.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    }

    // MARK: Forms

    static func date(_ text: String) -> FileTime? {
        let parts = text.split(separator: ".", maxSplits: 1)
        guard let first = parts.first, let seconds = Int64(first), seconds.magnitude < 1 << 40 else { return nil }
        guard parts.count > 1 else { return FileTime(seconds: seconds) }
        let digits = parts[1].prefix(9)
        guard digits.utf8.allSatisfy({ 48..<58 ~= $0 }) else { return nil }
        let fraction = Int64(String(digits) + String(repeating: "0", count: 9 - digits.count)) ?? 0
        return FileTime(seconds: seconds, nanoseconds: text.hasPrefix("-") ? -fraction : fraction)
    }

    static func text(_ time: FileTime) -> String {
        let nanoseconds = time.wideNanoseconds
        let (seconds, fraction) = nanoseconds.magnitude.quotientAndRemainder(dividingBy: 1_000_000_000)
        let sign = nanoseconds < 0 ? "-" : ""
        if fraction == 0 { return "\(sign)\(seconds)" }
        let digits = String(fraction)
        return "\(sign)\(seconds).\(String(repeating: "0", count: 9 - digits.count))\(digits)"
    }

    /// Decimal, as s3fs writes it (33188), or octal with the type (100644, 0100644).
    static func mode(_ text: String) -> UInt32? {
        if let number = UInt32(text), (0o10000...0o177777).contains(number), !text.hasPrefix("0") { return number }
        guard let number = UInt32(text, radix: 8), number <= 0o177777 else { return nil }
        return number & kind == 0 ? number | document : number
    }

    /// `{"user.name":"BASE64"}`, percent-encoded (s3fs); nil: it cannot be read.
    ///
    /// - Returns: what a document can have here, and the rest as it came.
    static func entries(_ text: String) -> (attributes: [String: [UInt8]], foreign: [String: String])? {
        guard text.utf8.count <= 8 << 10, let plain = PercentCoding.decode(text.utf8),
            let object = try? JSONDecoder().decode([String: String].self, from: Data(plain))
        else { return nil }
        var attributes: [String: [UInt8]] = [:]
        var foreign: [String: String] = [:]
        for (name, value) in object {
            if let bytes = Data(base64Encoded: value).map({ Array($0) }),
                ExtendedAttribute.problem(name: name, value: bytes) == nil
            {
                attributes[name] = bytes
            } else {
                foreign[name] = value
            }
        }
        return (attributes, foreign)
    }

    static func text(_ attributes: [String: [UInt8]]) -> String {
        text(attributes.mapValues { Data($0).base64EncodedString() })
    }

    private static func text(_ entries: [String: String]) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return PercentCoding.encode((try? encoder.encode(entries)) ?? Data())
    }
}

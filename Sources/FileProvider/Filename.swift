/// One component of a path, as the bytes that the store and the kernel use.
///
/// File names on Linux are bytes, not text: Hydrant carries a name that is not UTF-8 unchanged. Use ``string`` only to
/// show a name to a person.
public struct Filename: Hashable, Sendable {
    /// The bytes, as the kernel has them.
    public let bytes: [UInt8]

    /// The name with these bytes, unchecked; ``problem`` says whether a file may have it.
    public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    /// The name in UTF-8, unchecked.
    public init(_ string: String) { self.bytes = Array(string.utf8) }

    /// For people: invalid UTF-8 is shown as U+FFFD.
    public var string: String { String(decoding: bytes, as: UTF8.self) }

    /// Why no file can have this name on Linux, or nil when one can (path_resolution(7), NAME_MAX).
    public var problem: String? {
        if bytes.isEmpty { return "the name is empty" }
        if bytes.count > 255 { return "the name has \(bytes.count) bytes, more than 255" }
        if bytes.contains(0) { return "the name contains a NUL byte" }
        if bytes.contains(UInt8(ascii: "/")) { return "the name contains a slash" }
        if bytes == [UInt8(ascii: ".")] || bytes == [UInt8(ascii: "."), UInt8(ascii: ".")] {
            return "the name is reserved"
        }
        return nil
    }
}

extension Filename: CustomStringConvertible {
    /// As ``string``.
    public var description: String { string }
}

extension Filename: ExpressibleByStringLiteral {
    /// The name in UTF-8, unchecked.
    public init(stringLiteral value: String) { self.init(value) }
}

extension Filename: Comparable {
    /// Byte order, as `LC_ALL=C ls` sorts.
    public static func < (a: Filename, b: Filename) -> Bool { a.bytes.lexicographicallyPrecedes(b.bytes) }
}

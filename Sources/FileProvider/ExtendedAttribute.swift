/// What holds for the extended attributes of an item, xattr(7): small values that programs attach to a
/// file under names like `user.xdg.tags`.
///
/// Only the namespace `user.` goes to a store or comes from one; the others (`security.`, `system.`,
/// `trusted.`) speak of one machine. Documents and folders may have them, symbolic links may not.
///
/// A provider is not trusted: an attribute that has a ``problem(name:value:)`` is left out and logged, and
/// the item is shown without it. A provider never gets one.
public enum ExtendedAttribute {
    /// The longest name, in bytes of UTF-8 and with the namespace (XATTR_NAME_MAX).
    public static let longestName = 255
    /// The largest value, in bytes (XATTR_SIZE_MAX).
    public static let largestValue = 64 << 10
    /// So many bytes all of an item's may have together, names and values: one of the largest value and as much again. Of a
    /// provider's item that has more, Hydrant takes none.
    public static let mostBytes = 128 << 10

    /// Why an item cannot have this attribute, or nil when it can.
    public static func problem(name: String, value: [UInt8]) -> String? {
        let bytes = name.utf8
        // Not `hasPrefix`: to that, a dot with an accent is no dot.
        if !bytes.starts(with: "user.".utf8) { return "the attribute's name does not begin with “user.”" }
        if bytes.count == 5 { return "the attribute's name is empty" }
        if bytes.contains(0) { return "the attribute's name contains a NUL byte" }
        if bytes.count > longestName {
            return "the attribute's name has \(bytes.count) bytes, more than \(longestName)"
        }
        if value.count > largestValue {
            return "the attribute has \(value.count) bytes, more than \(largestValue)"
        }
        return nil
    }
}

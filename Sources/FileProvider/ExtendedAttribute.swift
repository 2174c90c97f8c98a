/// The limits of extended attributes, xattr(7): small values that programs attach to a file under names like
/// `user.xdg.tags`.
///
/// Only attributes in the namespace `user.` go to a store or come from one; the others (`security.`, `system.`,
/// `trusted.`) concern one machine. Documents and folders may have them, symbolic links may not.
///
/// Hydrant checks what a provider returns: it leaves out and logs an attribute that has a ``problem(name:value:)``, and
/// shows the item without it. It never sends one to a provider.
public enum ExtendedAttribute {
    /// The longest name, in bytes of UTF-8 and with the namespace (XATTR_NAME_MAX).
    public static let longestName = 255
    /// The largest value, in bytes (XATTR_SIZE_MAX).
    public static let largestValue = 64 << 10
    /// The most bytes that the names and values of one item's attributes may have together: a value of the largest size
    /// and as much again. Hydrant takes none of a provider's item that has more.
    public static let mostBytes = 128 << 10

    /// Why an item cannot have this attribute, or nil when it can.
    public static func problem(name: String, value: [UInt8]) -> String? {
        let bytes = name.utf8
        // Not `hasPrefix`, which compares characters: a dot with an accent is no dot.
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

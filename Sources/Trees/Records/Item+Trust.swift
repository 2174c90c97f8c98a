package import FileProvider

/// A provider is not trusted: its facts about an item may be impossible, or larger than a catalog should hold.
extension Item {
    /// In bytes: 8 PiB, larger than any document of a store. Sums of larger sizes could overflow.
    package static let largestSize: Int64 = 1 << 53
    /// In bytes, of an ``ItemIdentifier``.
    package static let longestIdentifier = 1_024
    /// In bytes, of each of an item's two versions.
    package static let longestVersion = 64 << 10
    /// In bytes, without the NUL: PATH_MAX, the limit of symlink(2) and of the kernel's readlink.
    package static let longestTarget = 4_095

    /// Why the item cannot be shown; nil when it can.
    package var problem: String? { filename.problem ?? factsProblem }

    /// Like ``problem``, without checking the name.
    package var factsProblem: String? {
        if kind.isDocument, size < 0 { return "its size is negative" }
        if kind.isDocument, size > Self.largestSize { return "its size, \(size) bytes, is impossible" }
        let identifier = identifier.rawValue.utf8
        if identifier.isEmpty || self.identifier == .rootContainer { return "its identifier is reserved" }
        if identifier.count > Self.longestIdentifier {
            return "its identifier has \(identifier.count) bytes, more than \(Self.longestIdentifier)"
        }
        if identifier.contains(0) { return "its identifier contains a NUL byte" }
        if max(version.content.bytes.count, version.metadata.bytes.count) > Self.longestVersion {
            return "its version has more than \(Self.longestVersion) bytes"
        }
        if case .symbolicLink(let target) = kind { return Self.problem(target: target) }
        return nil
    }

    private static func problem(target: [UInt8]) -> String? {
        if target.isEmpty { return "the link's target is empty" }
        if target.contains(0) { return "the link's target contains a NUL byte" }
        if target.count > longestTarget {
            return "the link's target has \(target.count) bytes, more than \(longestTarget)"
        }
        return nil
    }

    /// The permission bits without setuid and setgid: here the file belongs to the user of the mount, whose rights no
    /// store may give away.
    package var trustedPermissions: UInt16? { posixPermissions.map { $0 & 0o1777 } }

    /// The extended attributes without those that no file can have on this machine.
    ///
    /// Nil (unknown) when they exceed the total limit: a subset would later be sent back as the complete set, and the
    /// provider would remove the rest.
    var trustedAttributes: [String: [UInt8]]? {
        guard let extendedAttributes, !hasTooManyAttributes else { return nil }
        return extendedAttributes.filter { ExtendedAttribute.problem(name: $0.key, value: $0.value) == nil }
    }

    /// In bytes, of one tag.
    package static let longestTag = 255

    /// The tags that can be shown, without repetitions, in the order of their bytes.
    var trustedTags: [String] {
        let shown = tags.lazy.filter { tag in
            let bytes = tag.utf8
            return !bytes.isEmpty && bytes.count <= Self.longestTag
                && bytes.allSatisfy { $0 >= 32 && $0 != 127 && $0 != UInt8(ascii: ",") }
        }
        return Set(shown.prefix(Item.mostTags)).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    package var hasTooManyAttributes: Bool {
        var room = ExtendedAttribute.mostBytes
        for (name, value) in extendedAttributes ?? [:] {
            room -= name.utf8.count + value.count
            if room < 0 { return true }
        }
        return false
    }
}

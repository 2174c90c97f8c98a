/// The label of a file with modified content, from which `hydrant rescue` can restore the document when the catalog is
/// lost.
package struct ContentLabel: Sendable, Equatable {
    /// From the mount's root, components separated by `/`. Readers must not trust it.
    package var path: [UInt8]
    /// The provider's identifier; nil: the provider never had the document.
    package var identifier: String?
    /// The content version that the change started from.
    package var base: [UInt8]?
    /// Nanoseconds since 1970; nil: the file's own date is the document's.
    package var modified: Int128?
    /// Permission bits.
    package var mode: UInt32
    /// The valid bytes; nil: all.
    package var extents: LabelledExtents?

    package init(
        path: [UInt8], identifier: String? = nil, base: [UInt8]? = nil, modified: Int128? = nil, mode: UInt32,
        extents: LabelledExtents? = nil
    ) {
        self.path = path
        self.identifier = identifier
        self.base = base
        self.modified = modified
        self.mode = mode
        self.extents = extents
    }
}

/// The valid bytes of a partial document: those in `ranges` below `baseSize`, and all above it.
package struct LabelledExtents: Sendable, Equatable {
    package var baseSize: Int64
    package var ranges: [Range<Int64>]

    package init(baseSize: Int64, ranges: [Range<Int64>]) {
        self.baseSize = baseSize
        self.ranges = ranges
    }

    /// The valid ranges of a file of `size` bytes.
    package func real(size: Int64) -> [Range<Int64>] {
        var real = ranges.map { $0.clamped(to: 0..<max(0, min(baseSize, size))) }.filter { !$0.isEmpty }
        if size > baseSize { real.append(max(0, baseSize)..<size) }
        return real
    }

    /// `BASE:LOWER-UPPER,…`, upper bounds excluded. Ranges that do not fit are left out, the shortest first: a label
    /// may name too few bytes, never too many.
    var text: String {
        var kept = ranges
        if kept.count > Self.mostRanges {
            kept = kept.sorted { $0.count > $1.count }.prefix(Self.mostRanges).sorted { $0.lowerBound < $1.lowerBound }
        }
        return "\(baseSize):" + kept.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",")
    }

    /// All extended attributes of a file share one block on ext4.
    private static let mostRanges = 40

    /// Nil: not such a text.
    init?(text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let base = Int64(parts[0]), base >= 0 else { return nil }
        baseSize = base
        ranges = []
        for part in parts[1].split(separator: ",") {
            let bounds = part.split(separator: "-").compactMap { Int64($0) }
            guard bounds.count == 2, bounds[0] >= 0, bounds[0] < bounds[1] else { return nil }
            ranges.append(bounds[0]..<bounds[1])
        }
    }
}

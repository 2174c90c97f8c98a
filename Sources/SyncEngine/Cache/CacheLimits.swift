/// How much of the disk the downloaded documents may use.
package struct CacheLimits: Sendable, Equatable, Codable {
    /// The bytes that may be here before some are evicted; nil: as many as the disk takes.
    package var most: Int64?
    /// How much of the disk must stay free.
    package var minimumFree: MinimumFree

    /// The most bytes in download ahead of any request (`ReadAhead`); 0: none.
    package var ahead: Int64 = usualAhead

    package static let usualAhead: Int64 = 8 << 20

    package enum MinimumFree: Sendable, Equatable, Codable {
        /// 2 GiB, or 5 % of a small disk.
        case usual
        case bytes(Int64)
        /// Percent of the whole disk, 0 to 100.
        case percent(Double)

        /// In bytes, for a disk of this size.
        package func bytes(of disk: Int64) -> Int64 {
            switch self {
            case .usual: min(2 << 30, disk / 20)
            case .bytes(let bytes): bytes
            case .percent(let percent): Int64(clamping: Int128(Double(disk) / 100 * percent))
            }
        }
    }

    package init(most: Int64? = nil, minimumFree: MinimumFree) {
        self.most = most
        self.minimumFree = minimumFree
    }

    /// Nothing is evicted before the disk is full.
    package static let none = CacheLimits(most: nil, minimumFree: .bytes(0))

    /// An eviction goes this far below the limit, so that not every further byte evicts a document.
    static func slack(of limit: Int64) -> Int64 { limit / 20 }
}

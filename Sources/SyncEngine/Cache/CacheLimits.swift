/// How much of the disk the documents that are here may take.
package struct CacheLimits: Sendable, Equatable, Codable {
    /// How many bytes may be here before some are evicted; nil: as many as there is room for.
    package var most: Int64?
    /// How much of the disk below must stay free.
    package var minimumFree: MinimumFree

    /// How many bytes of documents that nobody has asked for yet may be on their way (`ReadAhead`); 0: none.
    package var ahead: Int64 = usualAhead

    package static let usualAhead: Int64 = 8 << 20

    package enum MinimumFree: Sendable, Equatable, Codable {
        /// 2 GiB, or 5 % of a small disk.
        case usual
        case bytes(Int64)
        /// Of the whole disk, 0 to 100.
        case percent(Double)

        /// In bytes, of a disk of this size.
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

    /// Whoever is over a limit is brought this far below it, so that not every further byte evicts something.
    static func slack(of limit: Int64) -> Int64 { limit / 20 }
}

/// Sizes as a file system reports them (statvfs(3), stat(2)). A file system may report anything: a number beyond
/// `Int64` becomes `Int64.max`, and no sum traps.
package enum DiskNumbers {
    /// In bytes; a block has `unit` bytes.
    package static func bytes(_ blocks: UInt64, of unit: UInt64) -> Int64 {
        let (bytes, overflow) = blocks.multipliedReportingOverflow(by: unit)
        return overflow ? .max : Int64(clamping: bytes)
    }
}

extension Int64 {
    package func clampedAdding(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    package func clampedSubtracting(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }
}

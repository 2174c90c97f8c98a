/// What a file system says of its room (statvfs(3)) or of a file (stat(2)). It may say anything: what is larger than an
/// `Int64` becomes the largest one, and no sum ends the program.
package enum DiskNumbers {
    /// In bytes; `unit` bytes have a block.
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

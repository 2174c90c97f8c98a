/// Names one body of bytes: an inode's contents from one replacement to the next.
package struct GenerationID: Hashable, Sendable, CustomStringConvertible {
    package var inode: Int64
    package var number: Int64
    package init(inode: Int64, number: Int64) {
        self.inode = inode
        self.number = number
    }
    package var description: String { "\(inode).\(number)" }
}

/// What fstat(2) says of a generation's file.
package struct ContentStat: Sendable, Equatable {
    package var size: Int64
    /// Nanoseconds since 1970.
    package var modified: Int64
    package var changed: Int64
    /// In units of 512 bytes.
    package var blocks: Int64
    /// So many bytes it takes on the disk, by what the disk says.
    package var allocated: Int64 {
        let (bytes, overflow) = blocks.multipliedReportingOverflow(by: 512)
        return overflow ? .max : bytes
    }
}

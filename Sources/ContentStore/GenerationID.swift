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

/// The fstat(2) of a generation's file.
package struct ContentStat: Sendable, Equatable {
    package var size: Int64
    /// Nanoseconds since 1970.
    package var modified: Int64
    package var changed: Int64
    /// In units of 512 bytes.
    package var blocks: Int64
    /// The bytes that it takes on the disk, as the file system reports them.
    package var allocated: Int64 {
        let (bytes, overflow) = blocks.multipliedReportingOverflow(by: 512)
        return overflow ? .max : bytes
    }
}

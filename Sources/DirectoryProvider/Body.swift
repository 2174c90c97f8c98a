import FileProvider

/// Distinguishes contents of a document without reading them: by file, size and date.
///
/// The change time (ctime) is no part of it, as a rename changes it too (``Sightings`` uses it). Inode and birth time
/// distinguish two documents of the same size and date; the inode alone does not, as inodes are reused.
struct Body: Hashable, Sendable {
    var inode: UInt64
    var born: Timestamp
    var size: Int64
    var modified: Timestamp

    /// Nil where the file system has no birth times.
    init?(_ status: FileStatus) {
        guard let born = status.born else { return nil }
        (inode, self.born, size, modified) = (status.inode, born, status.size, status.modified)
    }

    /// As a version; `racySince` is the time at which the contents were found to differ although size and date had
    /// stayed the same ("racy", as git calls an unchanged date that proves nothing).
    func version(racySince: Timestamp?) -> ContentVersion {
        ContentVersion("\(inode):\(born):\(size):\(modified)" + (racySince.map { ":\($0)" } ?? ""))
    }

    /// Parses such a version; nil for one of a link, or of a file system without birth times.
    static func parse(_ version: ContentVersion) -> (body: Body, racySince: Timestamp?)? {
        let parts = String(decoding: version.bytes, as: UTF8.self).split(
            separator: ":", omittingEmptySubsequences: false)
        guard (4...5).contains(parts.count), let inode = UInt64(parts[0]), let born = Timestamp(parts[1]),
            let size = Int64(parts[2]), let modified = Timestamp(parts[3])
        else { return nil }
        let body = Body(inode: inode, born: born, size: size, modified: modified)
        guard parts.count == 5 else { return (body, nil) }
        return Timestamp(parts[4]).map { (body, $0) }
    }

    private init(inode: UInt64, born: Timestamp, size: Int64, modified: Timestamp) {
        (self.inode, self.born, self.size, self.modified) = (inode, born, size, modified)
    }

    func isOfSameFile(as other: Body) -> Bool { inode == other.inode && born == other.born }
}

extension Timestamp: Comparable {
    static func < (a: Timestamp, b: Timestamp) -> Bool { (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds) }

    /// As ``description``.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let seconds = Int64(parts[0]), let nanoseconds = UInt32(parts[1]) else { return nil }
        self.init(seconds, nanoseconds)
    }
}

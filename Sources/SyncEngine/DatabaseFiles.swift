package import ContentStore
package import FileProvider

/// What SQLite keeps beside a database (sqlite.org/fileformat2.html, tempfiles.html).
package enum DatabaseFiles {
    private static let suffixes = ["-wal", "-journal", "-shm"]

    /// The database that a file of this name belongs to, if it is such a file.
    package static func database(of name: Filename) -> Filename? {
        for suffix in suffixes
        where name.bytes.count > suffix.utf8.count && name.bytes.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) {
            return Filename(bytes: name.bytes.dropLast(suffix.utf8.count))
        }
        return nil
    }

    /// What a database of this name may have beside it.
    package static func all(of database: Filename) -> [Filename] {
        suffixes.map { Filename(bytes: database.bytes + Array($0.utf8)) }
    }

    /// The files that hold what belongs into a database and is not there yet, while they have bytes.
    static func pending(for database: Filename) -> [Filename] {
        ["-wal", "-journal"].map { Filename(bytes: database.bytes + Array($0.utf8)) }
    }

    /// By its first bytes; false when they are not here.
    package static func isDatabase(_ content: ContentFile) -> Bool { begins(content, Array("SQLite format 3\0".utf8)) }

    /// A rollback journal whose transaction is under way; a finished one that is kept has zeros there.
    static func isHot(journal content: ContentFile) -> Bool {
        begins(content, [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7])
    }

    private static func begins(_ content: ContentFile, _ magic: [UInt8]) -> Bool {
        guard content.missing(in: 0..<Int64(magic.count)).isEmpty else { return false }
        var start = [UInt8](repeating: 0, count: magic.count)
        let count = start.withUnsafeMutableBytes { (try? content.read(into: $0, at: 0)) ?? 0 }
        return count == magic.count && start == magic
    }
}

package import ContentStore
package import FileProvider

/// The files that SQLite keeps beside a database (sqlite.org/fileformat2.html, tempfiles.html).
package enum DatabaseFiles {
    private static let suffixes = ["-wal", "-journal", "-shm"]

    /// The database that a file of this name belongs to; nil when the name is not of a database's side file.
    package static func database(of name: Filename) -> Filename? {
        for suffix in suffixes
        where name.bytes.count > suffix.utf8.count && name.bytes.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) {
            return Filename(bytes: name.bytes.dropLast(suffix.utf8.count))
        }
        return nil
    }

    /// The files that a database of this name may have beside it.
    package static func all(of database: Filename) -> [Filename] {
        suffixes.map { Filename(bytes: database.bytes + Array($0.utf8)) }
    }

    /// The files whose bytes, if any, still have to go into the database.
    static func pending(for database: Filename) -> [Filename] {
        ["-wal", "-journal"].map { Filename(bytes: database.bytes + Array($0.utf8)) }
    }

    /// Whether the first bytes are a database's; false when they are not here.
    package static func isDatabase(_ content: ContentFile) -> Bool { begins(content, Array("SQLite format 3\0".utf8)) }

    /// Whether a rollback journal's transaction is under way; a finished journal that is kept has zeros there.
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

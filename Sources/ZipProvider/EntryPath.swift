import FileProvider

/// The place of an entry, after its name was checked.
struct EntryPath {
    /// No program could use a longer name; and each byte of one may be half a folder.
    private static let longest = 4_095
    private static let deepest = 255

    /// From the top; at least one.
    let names: [Filename]

    /// `a//b` and `./a/b` are `a/b`. Refuses a name that leads out of the archive, or that no file can have.
    init(_ entry: ArchiveEntry) throws(Refused) {
        let slash = UInt8(ascii: "/")
        if entry.name.first == slash { throw Refused("the name is an absolute path") }
        if entry.name.count > Self.longest { throw Refused("the name has more than \(Self.longest) bytes") }
        names = entry.name.split(separator: slash).map(Filename.init(bytes:)).filter { $0 != "." }
        if names.isEmpty { throw Refused("it has no name") }
        if names.count > Self.deepest { throw Refused("it is in more than \(Self.deepest) folders") }
        for name in names {
            if name == ".." { throw Refused("the name leads out of its folder") }
            if let problem = name.problem { throw Refused(problem) }
        }
    }

    /// Why an entry is not shown.
    struct Refused: Error {
        let reason: String
        init(_ reason: String) { self.reason = reason }
    }
}

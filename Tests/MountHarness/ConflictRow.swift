/// One pair of a local and a remote change, and what comes of it: a row of the table in the documentation and a test.
package struct ConflictRow: Sendable, CustomStringConvertible {
    /// What somebody did, here or in the store.
    package enum Act: Sendable {
        /// Makes or replaces a document.
        case write(String, String)
        case mkdir(String)
        /// A folder with all that is in it.
        case remove(String)
        case rename(String, String)
        /// Two names change places.
        case swap(String, String)
        case symlink(String, String)
        case hardLink(String, String)
        case chmod(String, UInt32)
        case attribute(String, String)
        /// Reads it, so that it is on this machine.
        case read(String)
    }

    /// In words, for the table.
    package var here: String
    package var there: String
    /// What both had before; nothing of it is on this machine unless it is read.
    package var before: [Act]
    package var local: [Act]
    package var remote: [Act]
    /// What the mount shows afterwards, by path; `(copy)` stands for `(conflicted copy, HOST, DATE)`. Of a document its
    /// contents, of a folder `folder`, of a link `→` and its target.
    package var mount: [String: String]
    /// What the store holds; nil: the same.
    package var store: [String: String]?
    /// Why `hydrant conflicts` lists it; empty where it does not.
    package var conflicts: [String]

    package var description: String { "here: \(here), there: \(there)" }

    package init(
        _ here: String, _ there: String, before: [Act] = [.write("a", "base"), .read("a")], local: [Act], remote: [Act],
        _ mount: [String: String], store: [String: String]? = nil, _ conflicts: [String] = []
    ) {
        self.here = here
        self.there = there
        self.before = before
        self.local = local
        self.remote = remote
        self.mount = mount
        self.store = store
        self.conflicts = conflicts
    }

    /// The host and the date of conflicted copies are no part of the table.
    package static func plain(_ path: String) -> String {
        path.replacing(/\ \(conflicted copy, [^)]*\)/, with: " (copy)")
    }

    // MARK: As a line of the table

    package var line: String {
        let reason = conflicts.isEmpty ? "" : conflicts.joined(separator: ", ")
        return "| \(here) | \(there) | \(Self.text(mount)) | \(store.map(Self.text) ?? "the same") | \(reason) |"
    }

    private static func text(_ tree: [String: String]) -> String {
        if tree.isEmpty { return "nothing" }
        return tree.sorted { $0.key < $1.key }.map { path, what in
            switch what {
            case "folder": "`\(path)/`"
            case _ where what.hasPrefix("→"): "`\(path)` \(what)"
            default: "`\(path)`: \(what)"
            }
        }.joined(separator: "<br>")
    }
}

extension ConflictRow.Act {
    /// Does it as a program at the mount.
    package func run(at files: some FileSystemUnderTest) throws {
        switch self {
        case .write(let path, let text):
            let folder = FSPath(path).parent
            if !folder.names.isEmpty, try !files.exists(folder) { try files.mkdir(folder) }
            try files.put(FSPath(path), text)
        case .mkdir(let path): try files.mkdir(FSPath(path))
        case .remove(let path): try Self.remove(FSPath(path), files)
        case .rename(let old, let new): try files.rename(FSPath(old), to: FSPath(new))
        case .swap(let one, let other):
            try files.rename(FSPath(one), to: "swapping")
            try files.rename(FSPath(other), to: FSPath(one))
            try files.rename("swapping", to: FSPath(other))
        case .symlink(let path, let target): try files.symlink(FSPath(path), to: Array(target.utf8))
        case .hardLink(let path, let other): try files.hardLink(FSPath(path), to: FSPath(other))
        case .chmod(let path, let mode): try files.chmod(FSPath(path), mode)
        case .attribute(let path, let value):
            try files.setAttribute("user.note", to: Array(value.utf8), of: FSPath(path))
        case .read(let path): _ = try files.readAll(FSPath(path))
        }
    }

    private static func remove(_ path: FSPath, _ files: some FileSystemUnderTest) throws {
        guard try files.stat(path).kind == .folder else { return try files.unlink(path) }
        for name in try files.list(path) { try remove(path.appending(name), files) }
        try files.rmdir(path)
    }
}

extension FileSystemUnderTest {
    /// Everything, as the table has it; documents are read only if asked for.
    package func tree(reading: Bool = true) throws -> [String: String] {
        var found: [String: String] = [:]
        var waiting = [FSPath.root]
        while let folder = waiting.popLast() {
            for name in try list(folder) {
                let path = folder.appending(name)
                let what: String
                switch try stat(path).kind {
                case .document: what = reading ? try text(path) : ""
                case .link: what = "→ " + String(decoding: try readlink(path), as: UTF8.self)
                case .special: what = "special"
                case .folder:
                    what = "folder"
                    waiting.append(path)
                }
                let known = found[ConflictRow.plain(path.description)]
                found[ConflictRow.plain(path.description)] = known.map { "\($0) and \(what)" } ?? what
            }
        }
        return found
    }
}

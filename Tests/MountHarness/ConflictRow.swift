/// A pair of a local and a remote change with its result: a row of the table in the documentation, and a test.
package struct ConflictRow: Sendable, CustomStringConvertible {
    /// A step, here or in the store.
    package enum Act: Sendable {
        /// Makes or replaces a document.
        case write(String, String)
        case mkdir(String)
        /// Removes a document, or a folder with its contents.
        case remove(String)
        case rename(String, String)
        /// Exchanges two names.
        case swap(String, String)
        case symlink(String, String)
        case hardLink(String, String)
        case chmod(String, UInt32)
        case attribute(String, String)
        /// Reads a document, so that it is on this machine.
        case read(String)
    }

    /// The changes in words, for the table.
    package var here: String
    package var there: String
    /// The state before, on both sides; only what is read is on this machine.
    package var before: [Act]
    package var local: [Act]
    package var remote: [Act]
    /// The mount afterwards, by path; `(copy)` stands for `(conflicted copy, HOST, DATE)`. The value is a document's
    /// contents, `folder`, or `→` and a link's target.
    package var mount: [String: String]
    /// The store afterwards; nil: the same.
    package var store: [String: String]?
    /// The reasons that `hydrant conflicts` lists; empty if none.
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

    /// Removes the host and the date of conflicted copies, which the table does not show.
    package static func plain(_ path: String) -> String {
        path.replacing(/\ \(conflicted copy, [^)]*\)/, with: " (copy)")
    }

    // MARK: The row in the table

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
    /// Runs the step as a program at the mount.
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
    /// The whole tree, as in the table; documents are read only on request.
    package func tree(reading: Bool = true) throws -> [String: String] {
        var found: [String: String] = [:]
        var waiting = [FSPath.root]
        while let folder = waiting.popLast() {
            // (In one order, as copies may have one name in the table.)
            for name in try list(folder).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
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

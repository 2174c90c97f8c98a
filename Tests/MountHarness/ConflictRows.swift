/// The table of conflicts: every pair of a local and a remote change. The page *Conflicts* is made from it.
extension ConflictRow {
    private static let changed = "bothChanged"
    private static let made = "bothMade"
    private static let taken = "nameTaken"
    private static let a: [Act] = [.write("a", "base"), .read("a")]
    private static let ab: [Act] = [.write("a", "base"), .write("b", "other"), .read("a"), .read("b")]
    /// A folder with two documents, both on this machine.
    private static let tree: [Act] = [.write("f/a", "base"), .write("f/b", "other"), .read("f/a"), .read("f/b")]

    package static let groups: [(title: String, rows: [ConflictRow])] = [
        ("Documents", documents), ("Names", names), ("New items", creations), ("Folders", folders),
        ("Kinds, links, modes and attributes", kinds),
    ]

    /// Rows that also run at a real mount.
    package static var mostImportant: [ConflictRow] {
        // (Between two remote changes the mount may upload its own.)
        documents.filter { $0.remote.count == 1 } + names.prefix(6) + creations.prefix(2) + folders.prefix(10)
    }

    private static let documents: [ConflictRow] = [
        ConflictRow(
            "edited", "edited", local: [.write("a", "mine")], remote: [.write("a", "theirs")],
            ["a": "theirs", "a (copy)": "mine"], [changed]),
        ConflictRow(
            "edited", "edited, to the same", local: [.write("a", "agreed")], remote: [.write("a", "agreed")],
            ["a": "agreed"]),
        ConflictRow(
            "edited", "deleted", local: [.write("a", "mine")], remote: [.remove("a")], ["a": "mine"]),
        ConflictRow(
            "edited", "renamed", local: [.write("a", "mine")], remote: [.rename("a", "new")], ["new": "mine"]),
        ConflictRow(
            "edited", "renamed and edited", local: [.write("a", "mine")],
            remote: [.rename("a", "new"), .write("new", "theirs")], ["new": "theirs", "new (copy)": "mine"], [changed]),
        ConflictRow(
            "edited", "moved into a folder", before: a + [.mkdir("f")], local: [.write("a", "mine")],
            remote: [.rename("a", "f/a")], ["f": "folder", "f/a": "mine"]),
        ConflictRow(
            "edited", "replaced (deleted, and made anew)", local: [.write("a", "mine")],
            remote: [.remove("a"), .write("a", "theirs")], ["a": "theirs", "a (copy)": "mine"], [made]),
        ConflictRow(
            "edited", "replaced by another that was renamed", before: ab, local: [.write("a", "mine")],
            remote: [.remove("a"), .rename("b", "a")], ["a": "other", "a (copy)": "mine"], [taken]),
        ConflictRow(
            "deleted", "edited", local: [.remove("a")], remote: [.write("a", "theirs")], ["a": "theirs"]),
        ConflictRow("deleted", "deleted", local: [.remove("a")], remote: [.remove("a")], [:]),
        ConflictRow(
            "deleted", "renamed", local: [.remove("a")], remote: [.rename("a", "new")], [:]),
        ConflictRow(
            "deleted", "replaced (deleted, and made anew)", local: [.remove("a")],
            remote: [.remove("a"), .write("a", "theirs")], ["a": "theirs"]),
    ]

    private static let names: [ConflictRow] = [
        ConflictRow(
            "renamed", "edited", local: [.rename("a", "new")], remote: [.write("a", "theirs")], ["new": "theirs"]),
        ConflictRow(
            "renamed and edited", "edited", local: [.rename("a", "new"), .write("new", "mine")],
            remote: [.write("a", "theirs")], ["new": "theirs", "new (copy)": "mine"], [changed]),
        ConflictRow(
            "renamed", "renamed, to the same name", local: [.rename("a", "new")], remote: [.rename("a", "new")],
            ["new": "base"]),
        ConflictRow(
            "renamed", "renamed, to another name", local: [.rename("a", "mine")], remote: [.rename("a", "theirs")],
            ["mine": "base"]),
        ConflictRow(
            "renamed", "renamed, differing in case only", local: [.rename("a", "A.txt")],
            remote: [.rename("a", "a.TXT")], ["A.txt": "base"]),
        ConflictRow(
            "renamed, in case only", "edited", local: [.rename("a", "A")], remote: [.write("a", "theirs")],
            ["A": "theirs"]),
        ConflictRow(
            "edited", "renamed, in case only", local: [.write("a", "mine")], remote: [.rename("a", "A")], ["A": "mine"]),
        ConflictRow(
            "renamed, and here", "deleted", local: [.rename("a", "new")], remote: [.remove("a")], ["new": "base"]),
        ConflictRow(
            "renamed, and not here", "deleted", before: [.write("a", "base")], local: [.rename("a", "new")],
            remote: [.remove("a")], [:]),
        ConflictRow(
            "moved into a folder", "edited", before: a + [.mkdir("f")], local: [.rename("a", "f/a")],
            remote: [.write("a", "theirs")], ["f": "folder", "f/a": "theirs"]),
        ConflictRow(
            "moved into a folder", "moved into another", before: a + [.mkdir("f"), .mkdir("g")],
            local: [.rename("a", "f/a")], remote: [.rename("a", "g/a")],
            ["f": "folder", "g": "folder", "f/a": "base"]),
        ConflictRow(
            "moved into a folder", "the folder renamed", before: a + [.mkdir("f")], local: [.rename("a", "f/a")],
            remote: [.rename("f", "g")], ["g": "folder", "g/a": "base"]),
        ConflictRow(
            "moved into a folder", "the folder deleted", before: a + [.mkdir("f")], local: [.rename("a", "f/a")],
            remote: [.remove("f")], ["f": "folder", "f/a": "base"]),
        ConflictRow(
            "renamed", "another made of that name", local: [.rename("a", "new")], remote: [.write("new", "theirs")],
            ["new": "theirs", "new (copy)": "base"], [taken]),
        ConflictRow(
            "renamed", "another renamed to that name", before: ab, local: [.rename("a", "new")],
            remote: [.rename("b", "new")], ["new": "other", "new (copy)": "base"], [taken]),
        ConflictRow(
            "renamed over another (`mv a b`)", "the other edited", before: ab, local: [.rename("a", "b")],
            remote: [.write("b", "theirs")], ["b": "theirs", "b (copy)": "base"], [taken]),
        ConflictRow(
            "renamed over another (`mv a b`)", "the first edited", before: ab, local: [.rename("a", "b")],
            remote: [.write("a", "theirs")], ["b": "theirs"]),
        ConflictRow(
            "two changed names", "one of them edited", before: ab, local: [.swap("a", "b")],
            remote: [.write("a", "theirs")], ["a": "other", "b": "theirs"]),
        ConflictRow(
            "two changed names", "the same two changed names", before: ab, local: [.swap("a", "b")],
            remote: [.swap("a", "b")], ["a": "other", "b": "base"]),
        ConflictRow(
            "one of two edited", "the two changed names", before: ab, local: [.write("a", "mine")],
            remote: [.swap("a", "b")], ["a": "other", "b": "mine"]),
        ConflictRow(
            "two changed names", "one of them deleted", before: ab, local: [.swap("a", "b")], remote: [.remove("a")],
            ["a": "other", "b": "base"]),
    ]

    private static let creations: [ConflictRow] = [
        ConflictRow(
            "a document made", "another made of the same name", before: [], local: [.write("new", "mine")],
            remote: [.write("new", "theirs")], ["new": "theirs", "new (copy)": "mine"], [made]),
        ConflictRow(
            "a document made", "the same made", before: [], local: [.write("new", "agreed")],
            remote: [.write("new", "agreed")], ["new": "agreed"]),
        ConflictRow(
            "a document made", "another renamed to its name", local: [.write("new", "mine")],
            remote: [.rename("a", "new")], ["new": "base", "new (copy)": "mine"], [taken]),
        ConflictRow(
            "a folder made, with a document", "the same, with another", before: [],
            local: [.mkdir("f"), .write("f/mine", "mine")], remote: [.write("f/theirs", "theirs")],
            ["f": "folder", "f/mine": "mine", "f/theirs": "theirs"]),
        ConflictRow(
            "a folder made, with a document", "the same, with one of the same name", before: [],
            local: [.mkdir("f"), .write("f/new", "mine")], remote: [.write("f/new", "theirs")],
            ["f": "folder", "f/new": "theirs", "f/new (copy)": "mine"], [made]),
        ConflictRow(
            "a document made", "a folder made of that name", before: [], local: [.write("new", "mine")],
            remote: [.write("new/theirs", "theirs")],
            ["new": "folder", "new/theirs": "theirs", "new (copy)": "mine"], [made]),
        ConflictRow(
            "a folder made, with a document", "a document made of that name", before: [],
            local: [.mkdir("new"), .write("new/mine", "mine")], remote: [.write("new", "theirs")],
            ["new": "theirs", "new (copy)": "folder", "new (copy)/mine": "mine"], [made]),
        ConflictRow(
            "a link made", "a link to the same made", before: [], local: [.symlink("l", "x")],
            remote: [.symlink("l", "x")], ["l": "→ x"]),
        ConflictRow(
            "a link made", "a link to something else made", before: [], local: [.symlink("l", "mine")],
            remote: [.symlink("l", "theirs")], ["l": "→ theirs", "l (copy)": "→ mine"], [made]),
    ]

    private static let folders: [ConflictRow] = [
        ConflictRow(
            "a document in a folder edited", "the folder deleted", before: tree, local: [.write("f/a", "mine")],
            remote: [.remove("f")], ["f": "folder", "f/a": "mine"]),
        ConflictRow(
            "the folder deleted", "a document in it edited", before: tree, local: [.remove("f")],
            remote: [.write("f/a", "theirs")], ["f": "folder", "f/a": "theirs"]),
        ConflictRow(
            "a document made in a folder", "the folder deleted", before: tree, local: [.write("f/new", "mine")],
            remote: [.remove("f")], ["f": "folder", "f/new": "mine"]),
        ConflictRow(
            "the folder deleted", "a document made in it", before: tree, local: [.remove("f")],
            remote: [.write("f/new", "theirs")], ["f": "folder", "f/new": "theirs"]),
        ConflictRow(
            "the folder deleted", "the folder deleted", before: tree, local: [.remove("f")], remote: [.remove("f")], [:]
        ),
        ConflictRow(
            "the folder deleted", "the folder renamed", before: tree, local: [.remove("f")],
            remote: [.rename("f", "g")], [:]),
        ConflictRow(
            "a document in a folder edited", "the folder renamed", before: tree, local: [.write("f/a", "mine")],
            remote: [.rename("f", "g")], ["g": "folder", "g/a": "mine", "g/b": "other"]),
        ConflictRow(
            "the folder renamed", "a document in it edited", before: tree, local: [.rename("f", "g")],
            remote: [.write("f/a", "theirs")], ["g": "folder", "g/a": "theirs", "g/b": "other"]),
        ConflictRow(
            "the folder renamed", "a document made in it", before: tree, local: [.rename("f", "g")],
            remote: [.write("f/new", "theirs")],
            ["g": "folder", "g/a": "base", "g/b": "other", "g/new": "theirs"]),
        ConflictRow(
            "the folder renamed", "the folder renamed, to another name", before: tree, local: [.rename("f", "mine")],
            remote: [.rename("f", "theirs")], ["mine": "folder", "mine/a": "base", "mine/b": "other"]),
        ConflictRow(
            "the folder renamed, and all of it here", "the folder deleted", before: tree, local: [.rename("f", "g")],
            remote: [.remove("f")], ["g": "folder", "g/a": "base", "g/b": "other"]),
        ConflictRow(
            "the folder renamed, and nothing of it here", "the folder deleted", before: [.write("f/a", "base")],
            local: [.rename("f", "g")], remote: [.remove("f")], [:]),
        ConflictRow(
            "the folder moved into another", "a document in it edited", before: tree + [.mkdir("g")],
            local: [.rename("f", "g/f")], remote: [.write("f/a", "theirs")],
            ["g": "folder", "g/f": "folder", "g/f/a": "theirs", "g/f/b": "other"]),
        ConflictRow(
            "a document in it edited", "the folder moved into another", before: tree + [.mkdir("g")],
            local: [.write("f/a", "mine")], remote: [.rename("f", "g/f")],
            ["g": "folder", "g/f": "folder", "g/f/a": "mine", "g/f/b": "other"]),
        ConflictRow(
            "the folder moved into another", "that other one deleted", before: tree + [.mkdir("g")],
            local: [.rename("f", "g/f")], remote: [.remove("g")],
            ["g": "folder", "g/f": "folder", "g/f/a": "base", "g/f/b": "other"]),
        ConflictRow(
            "the folder deleted", "a document moved into it", before: tree + [.write("c", "third"), .read("c")],
            local: [.remove("f")], remote: [.rename("c", "f/c")], ["f": "folder", "f/c": "third"]),
        ConflictRow(
            "a document moved out of it", "the folder deleted", before: tree, local: [.rename("f/a", "a")],
            remote: [.remove("f")], ["a": "base"]),
        ConflictRow(
            "the folder deleted", "a document moved out of it", before: tree, local: [.remove("f")],
            remote: [.rename("f/a", "a")], [:]),
        ConflictRow(
            "the folder moved into another", "that other one moved into it", before: tree + [.write("g/c", "third")],
            local: [.rename("f", "g/f")], remote: [.rename("g", "f/g")],
            ["f": "folder", "f/a": "base", "f/b": "other", "f/g": "folder", "f/g/c": "third"]),
    ]

    private static let kinds: [ConflictRow] = [
        ConflictRow(
            "edited", "replaced by a folder", local: [.write("a", "mine")],
            remote: [.remove("a"), .write("a/x", "theirs")],
            ["a": "folder", "a/x": "theirs", "a (copy)": "mine"], [made]),
        ConflictRow(
            "edited", "replaced by a link", local: [.write("a", "mine")],
            remote: [.remove("a"), .symlink("a", "theirs")], ["a": "→ theirs", "a (copy)": "mine"], [made]),
        ConflictRow(
            "replaced by a folder", "edited", local: [.remove("a"), .mkdir("a"), .write("a/x", "mine")],
            remote: [.write("a", "theirs")], ["a": "theirs", "a (copy)": "folder", "a (copy)/x": "mine"], [made]),
        ConflictRow(
            "replaced by a link", "edited", local: [.remove("a"), .symlink("a", "mine")],
            remote: [.write("a", "theirs")], ["a": "theirs", "a (copy)": "→ mine"], [made]),
        ConflictRow(
            "a document in a folder edited", "the folder replaced by a document", before: tree,
            local: [.write("f/a", "mine")], remote: [.remove("f"), .write("f", "theirs")],
            ["f": "theirs", "f (copy)": "folder", "f (copy)/a": "mine"], [made]),
        ConflictRow(
            "the folder replaced by a document", "a document in it edited", before: tree,
            local: [.remove("f"), .write("f", "mine")], remote: [.write("f/a", "theirs")],
            ["f": "folder", "f/a": "theirs", "f (copy)": "mine"], [made]),
        ConflictRow(
            "a link renamed", "led elsewhere", before: [.symlink("l", "x")], local: [.rename("l", "new")],
            remote: [.remove("l"), .symlink("l", "theirs")], ["l": "→ theirs", "new": "→ x"]),
        ConflictRow(
            "its mode changed", "edited", local: [.chmod("a", 0o600)], remote: [.write("a", "theirs")],
            ["a": "theirs"]),
        ConflictRow(
            "its mode changed, and here", "deleted", local: [.chmod("a", 0o600)], remote: [.remove("a")],
            ["a": "base"]),
        ConflictRow(
            "an attribute set", "edited", local: [.attribute("a", "mine")], remote: [.write("a", "theirs")],
            ["a": "theirs"]),
        ConflictRow(
            "edited", "an attribute set", local: [.write("a", "mine")], remote: [.attribute("a", "theirs")],
            ["a": "mine"]),
        ConflictRow(
            "an attribute set", "an attribute set", local: [.attribute("a", "mine")],
            remote: [.attribute("a", "theirs")], ["a": "base"]),
        ConflictRow(
            "a second name (hard link) made", "edited", local: [.hardLink("a", "second")],
            remote: [.write("a", "theirs")], ["a": "theirs", "second": "theirs"], store: ["a": "theirs"]),
        ConflictRow(
            "a second name (hard link) made", "deleted", local: [.hardLink("a", "second")], remote: [.remove("a")],
            ["second": "base"]),
    ]
}

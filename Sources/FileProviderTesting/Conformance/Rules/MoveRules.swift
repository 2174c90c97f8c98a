import FileProvider

extension ConformanceSuite {
    static let moveRules: [ConformanceRule] = [
        ConformanceRule(501, "A rename keeps the contents and their version, and frees the old name.") { it in
            let bytes = ConformanceContext.testBytes(777)
            let item = try await it.makeDocument("before", bytes)
            let moved = try await move(it, item, as: "after")
            try it.require(moved.filename == "after", "the returned item is called \(moved.filename)")
            try it.require(
                moved.version.content == item.version.content, "the content version has changed with the name")
            try await it.requireNames("after", after: "the rename")
            try await it.requireContents(moved, are: bytes)
        },
        ConformanceRule(502, "A document can move to another folder, under another name too.") { it in
            let bytes = ConformanceContext.testBytes(777)
            let item = try await it.makeDocument("before", bytes)
            let folder = try await it.makeFolder("folder")
            let moved = try await move(it, item, to: folder.identifier, as: "after")
            try it.require(moved.parentIdentifier == folder.identifier, "its parent is \(moved.parentIdentifier)")
            try await it.requireNames("folder", after: "the move")
            try await it.requireNames("after", in: folder.identifier, after: "the move")
            try await it.requireContents(moved, are: bytes)
        },
        ConformanceRule(503, "A move to a taken name is refused with the item that has the name, and replaces nothing.")
        { it in
            let (a, b) = (ConformanceContext.testBytes(50), ConformanceContext.testBytes(60, seed: 2))
            let mover = try await it.makeDocument("mover", a)
            let taken = try await it.makeDocument("taken", b)
            let error = try await it.requireError(.filenameCollision, from: "a rename to a taken name") {
                _ = try await move(it, mover, as: "taken")
            }
            try await it.requireUnchanged(mover, a, after: "the refused move")
            try await it.requireUnchanged(taken, b, after: "the refused move")
            try await it.requireItem(of: error, isCurrent: taken)
        },
        ConformanceRule(504, "A moved folder keeps its contents.") { it in
            let bytes = ConformanceContext.testBytes(300)
            let folder = try await it.makeFolder("folder")
            let inner = try await it.makeFolder("inner", in: folder.identifier)
            let item = try await it.makeDocument("deep", bytes, in: inner.identifier)
            let goal = try await it.makeFolder("goal")
            let moved = try await move(it, folder, to: goal.identifier, as: "renamed")
            try await it.requireNames("goal", after: "the move")
            try await it.requireNames("inner", in: moved.identifier, after: "the move")
            guard let newInner = try await it.items(in: moved.identifier).first,
                let newItem = try await it.items(in: newInner.identifier).first
            else { throw RuleFailure("the document in the folder is gone") }
            try it.require(
                newItem.version.content == item.version.content, "its content version has changed with the move")
            try await it.requireContents(newItem, are: bytes)
        },
        ConformanceRule(505, "A move returns the same item as a fresh placeholder.") { it in
            let item = try await it.makeDocument("before")
            try await it.requireIsCurrent(try await move(it, item, as: "after"))
            let folder = try await it.makeFolder("folder")
            try await it.requireIsCurrent(try await move(it, folder, as: "renamed"))
        },
        ConformanceRule(506, "A move of a deleted item is refused.") { it in
            let item = try await it.makeDocument("before")
            try await it.provider.deleteItem(item.identifier, baseVersion: item.version)
            try await it.requireError(.noSuchItem, from: "a move of a deleted document") {
                _ = try await move(it, item, as: "after")
            }
        },
        ConformanceRule(507, "A move into a deleted folder is refused; the item stays where it is.") { it in
            let bytes = ConformanceContext.testBytes(20)
            let item = try await it.makeDocument("document", bytes)
            let gone = try await it.makeFolder("gone")
            try await it.provider.deleteItem(gone.identifier, baseVersion: gone.version)
            try await it.requireError(.noSuchItem, from: "a move into a deleted folder") {
                _ = try await move(it, item, to: gone.identifier, as: "document")
            }
            try await it.requireUnchanged(item, bytes, after: "the refused move")
        },
        ConformanceRule(508, "A move from a stale base version is refused, if the store can tell.") {
            it in
            let item = try await it.makeDocument("before")
            let moved = try await move(it, item, as: "theirs")
            guard moved.identifier == item.identifier else {
                throw RuleSkip("the identifier is the path: the moved item has a new one")
            }
            do {
                _ = try await move(it, item, as: "ours")
            } catch let error as FileProviderError {
                try it.require(error.code == .versionMismatch, "it is refused with \(error)")
                try await it.requireItem(of: error, isCurrent: moved)
                return try await it.requireNames("theirs", after: "the refused move")
            }
            throw RuleSkip("the store does not tell")
        },
        ConformanceRule(509, "A move of a folder into itself is refused.") { it in
            let folder = try await it.makeFolder("folder")
            let inner = try await it.makeFolder("inner", in: folder.identifier)
            try await it.requireError(from: "a move of a folder into its own subfolder") {
                _ = try await move(it, folder, to: inner.identifier, as: "loop")
            }
            try await it.requireNames("folder", after: "the refused move")
            try await it.requireNames("inner", in: folder.identifier, after: "the refused move")
        },
    ]

    private static func move(
        _ it: ConformanceContext, _ item: Item, to folder: ItemIdentifier? = nil, as name: Filename
    ) async throws -> Item {
        try await it.provider.moveItem(
            item.identifier, to: folder ?? it.folder, as: name, baseVersion: item.version)
    }
}

import FileProvider

/// Rules for providers that are ``FileProvider/Trashing``.
extension ConformanceSuite {
    static let trashRules: [ConformanceRule] = [
        ConformanceRule(1401, "A trashed item has left its folder, and its name is free.") { it in
            let (item, folder) = (try await it.makeDocument("document"), try await it.makeFolder("folder"))
            _ = try await it.makeDocument("bystander")
            for item in [item, folder] { try await trash(it, item) }
            try await it.requireNames("bystander", after: "the two were put into the trash")
            let bytes = ConformanceContext.testBytes(33)
            try await it.requireContents(try await it.makeDocument("document", bytes), are: bytes)
        },
        ConformanceRule(1402, "Trashing from a stale base version is refused.") { it in
            let old = try await it.makeDocument()
            let bytes = ConformanceContext.testBytes(80)
            let new = try await it.change(old, to: bytes)
            let error = try await it.requireError(.versionMismatch, from: "putting an old version into the trash") {
                try await trash(it, old)
            }
            try await it.requireUnchanged(new, bytes, after: "the refusal")
            try await it.requireItem(of: error, isCurrent: new)
        },
        ConformanceRule(1403, "A folder that is not empty is not trashed.") { it in
            let bytes = ConformanceContext.testBytes(80)
            let folder = try await it.makeFolder("folder")
            let item = try await it.makeDocument("document", bytes, in: folder.identifier)
            let current = try await it.placeholder(folder)
            try await it.requireError(.directoryNotEmpty, from: "putting a folder with a document into the trash") {
                try await trash(it, current)
            }
            try await it.requireUnchanged(item, bytes, after: "the refusal")
        },
        ConformanceRule(1404, "Trashing a deleted item is refused.") { it in
            let item = try await it.makeDocument()
            try await it.provider.deleteItem(item.identifier, baseVersion: item.version)
            try await it.requireError(.noSuchItem, from: "putting a deleted document into the trash") {
                try await trash(it, item)
            }
        },
        // (With names of their own: in the trash of Nextcloud a name stands for one item a second.)
        ConformanceRule(1405, "A trashed item is listed in the trash, with the place where it was.") { it in
            let folder = try await it.makeFolder("folder")
            let item = try await it.makeDocument("listed", ConformanceContext.testBytes(33), in: folder.identifier)
            let entry = try await trashed(it, item)
            try it.require(
                entry.path.suffix(2) == ["folder", "listed"], "the place of “folder/listed” is \(entry.path)")
            try it.require(entry.problem == nil, "\(entry.problem ?? "")")
            try it.require(entry.kind == .document && entry.size == 33, "33 bytes are a \(entry.kind) of \(entry.size)")
        },
        ConformanceRule(1406, "A restored item is at its place again, with its contents.") { it in
            let bytes = ConformanceContext.testBytes(80)
            let folder = try await it.makeFolder("folder")
            let item = try await it.makeDocument("restored", bytes, in: folder.identifier)
            let entry = try await trashed(it, item)
            let path = try await restore(it, entry)
            try it.require(
                path.map { $0 == entry.path } ?? true, "restored from \(entry.path), it is said to be at \(path ?? [])")
            let back = try await it.items(in: folder.identifier).first { $0.filename == "restored" }
            guard let back else { throw RuleFailure("the folder does not have the restored document") }
            try await it.requireContents(back, are: bytes)
        },
        ConformanceRule(1407, "A restored item replaces nothing when its name is taken.") { it in
            let bytes = (ConformanceContext.testBytes(80), ConformanceContext.testBytes(90))
            let item = try await it.makeDocument("taken", bytes.0)
            let entry = try await trashed(it, item)
            let other = try await it.makeDocument("taken", bytes.1)
            _ = try await restore(it, entry)
            try await it.requireUnchanged(other, bytes.1, after: "the restoration")
            let all = try await it.items()
            guard all.count == 2, let back = all.first(where: { $0.identifier != other.identifier }) else {
                throw RuleFailure("the folder has \(all.map(\.filename)), not both documents")
            }
            try await it.requireContents(back, are: bytes.0)
        },
        ConformanceRule(1408, "Restoring an item that is not in the trash is refused.") { it in
            let entry = try await trashed(it, try await it.makeDocument("twice"))
            _ = try await restore(it, entry)
            try await it.requireError(.noSuchItem, from: "restoring a restored item once more") {
                _ = try await restore(it, entry)
            }
        },
    ]

    private static func openTrash(_ it: ConformanceContext) throws -> any TrashRestoring {
        guard let provider = it.abilities.openTrash else { throw RuleSkip("the trash cannot be looked into") }
        return provider
    }

    /// Puts an item into the trash.
    ///
    /// - Returns: its entry, which was not there before.
    private static func trashed(_ it: ConformanceContext, _ item: Item) async throws -> TrashEntry {
        let provider = try openTrash(it)
        let before = try await unlessUnsupported("the store has no trash") { try await provider.trashedItems() }
        try await trash(it, item)
        let known = Set(before.map(\.identifier))
        let new = try await provider.trashedItems().filter { !known.contains($0.identifier) }
        guard let entry = new.first, new.count == 1 else {
            throw RuleFailure("the trash has \(new.count) more items, after one was put there")
        }
        return entry
    }

    private static func restore(_ it: ConformanceContext, _ entry: TrashEntry) async throws -> [Filename]? {
        try await openTrash(it).restoreTrashedItem(entry.identifier)
    }

    private static func trash(_ it: ConformanceContext, _ item: Item) async throws {
        let reason = "the store has no trash"
        guard let provider = it.abilities.trash else { throw RuleSkip(reason) }
        try await unlessUnsupported(reason) {
            try await provider.trashItem(item.identifier, baseVersion: item.version)
        }
    }
}

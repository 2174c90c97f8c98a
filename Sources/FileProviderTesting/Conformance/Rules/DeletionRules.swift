import FileProvider

extension ConformanceSuite {
    static let deletionRules: [ConformanceRule] = [
        ConformanceRule(601, "A deleted document has no placeholder, and is not in its folder.") { it in
            let item = try await it.makeDocument("document")
            _ = try await it.makeDocument("other")
            try await delete(it, item)
            try await it.requireGone(item)
            try await it.requireNames("other", after: "the deletion")
        },
        ConformanceRule(602, "A deletion from a stale base version is refused with the current item.") { it in
            let old = try await it.makeDocument()
            let bytes = ConformanceContext.testBytes(80)
            let new = try await it.change(old, to: bytes)
            let error = try await it.requireError(.versionMismatch, from: "a deletion from a stale base version") {
                try await delete(it, old)
            }
            try await it.requireUnchanged(new, bytes, after: "the refused deletion")
            try await it.requireItem(of: error, isCurrent: new)
        },
        ConformanceRule(603, "A folder that is not empty is not deleted.") { it in
            let bytes = ConformanceContext.testBytes(80)
            let folder = try await it.makeFolder("folder")
            let item = try await it.makeDocument("document", bytes, in: folder.identifier)
            let current = try await it.placeholder(folder)
            try await it.requireError(.directoryNotEmpty, from: "a deletion of a folder with a document in it") {
                try await delete(it, current)
            }
            try await it.requireUnchanged(item, bytes, after: "the refused deletion")
            try await it.requireNames("folder", after: "the refused deletion")
        },
        ConformanceRule(604, "An empty folder is deleted, also if it once had items.") { it in
            let folder = try await it.makeFolder("folder")
            let item = try await it.makeDocument("document", in: folder.identifier)
            try await delete(it, item)
            // From its first version: items in the folder do not change the folder itself.
            try await delete(it, folder)
            try await it.requireGone(folder)
            try await it.requireNames(after: "the deletion")
        },
        ConformanceRule(605, "A second deletion is refused as noSuchItem.") { it in
            let item = try await it.makeDocument()
            let folder = try await it.makeFolder("folder")
            for item in [item, folder] {
                try await delete(it, item)
                try await it.requireError(.noSuchItem, from: "a second deletion") { try await delete(it, item) }
            }
        },
        ConformanceRule(606, "The name of a deleted item is free.") { it in
            let item = try await it.makeDocument("name")
            try await delete(it, item)
            let bytes = ConformanceContext.testBytes(33)
            try await it.requireContents(try await it.makeDocument("name", bytes), are: bytes)
            try await it.requireNames("name", after: "the new creation")
        },
        ConformanceRule(607, "A deletion after a rename of the document is not refused.") { it in
            let item = try await it.makeDocument("before")
            let moved = try await it.provider.moveItem(
                item.identifier, to: it.folder, as: "after", baseVersion: item.version)
            try await it.provider.deleteItem(moved.identifier, baseVersion: item.version)
            try await it.requireNames(after: "the deletion")
        },
    ]

    private static func delete(_ it: ConformanceContext, _ item: Item) async throws {
        try await it.provider.deleteItem(item.identifier, baseVersion: item.version)
    }
}

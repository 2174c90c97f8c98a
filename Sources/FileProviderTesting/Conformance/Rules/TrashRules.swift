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
    ]

    private static func trash(_ it: ConformanceContext, _ item: Item) async throws {
        let reason = "the store has no trash"
        guard let provider = it.abilities.trash else { throw RuleSkip(reason) }
        try await unlessUnsupported(reason) {
            try await provider.trashItem(item.identifier, baseVersion: item.version)
        }
    }
}

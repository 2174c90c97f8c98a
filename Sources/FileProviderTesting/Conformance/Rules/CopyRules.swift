import FileProvider

/// Rules for providers that are ``FileProvider/ServerSideCopying``.
extension ConformanceSuite {
    static let copyRules: [ConformanceRule] = [
        ConformanceRule(1301, "A copy is a new document with the given contents, name and folder.") { it in
            let bytes = ConformanceContext.testBytes(3_000)
            let item = try await it.makeDocument("original", bytes)
            let folder = try await it.makeFolder("folder")
            let made = try await copy(it, item, as: it.template("copy", in: folder.identifier))
            try it.require(made.identifier != item.identifier, "it has the identifier of the original")
            try it.require(
                made.filename == "copy" && made.parentIdentifier == folder.identifier, "the returned item is \(made)")
            try await it.requireContents(made, are: bytes)
            try await it.requireNames("copy", in: folder.identifier, after: "the copy")
            try await it.requireNames("original", "folder", after: "the copy")
            try await it.requireUnchanged(item, bytes, after: "the copy")
        },
        ConformanceRule(1302, "A copy returns the same item as a fresh placeholder.") { it in
            let item = try await it.makeDocument("original")
            try await it.requireIsCurrent(try await copy(it, item, as: it.template("copy")))
        },
        ConformanceRule(1303, "A copy of changed contents is refused.") { it in
            let old = try await it.makeDocument("original")
            // Distinguishes a provider that cannot copy from one that refuses this version.
            _ = try await copy(it, old, as: it.template("current"))
            _ = try await it.change(old, to: ConformanceContext.testBytes(90))
            try await it.requireError(.versionMismatch, from: "a copy of an old version") {
                _ = try await copy(it, old, as: it.template("copy"))
            }
            try await it.requireNames("original", "current", after: "the refused copy")
        },
        ConformanceRule(
            1304, "A copy to a taken name is refused with the item that has the name, and replaces nothing."
        ) { it in
            let item = try await it.makeDocument("original")
            let bytes = ConformanceContext.testBytes(70)
            let taken = try await it.makeDocument("taken", bytes)
            let error = try await it.requireError(.filenameCollision, from: "a copy to a taken name") {
                _ = try await copy(it, item, as: it.template("taken"))
            }
            try await it.requireUnchanged(taken, bytes, after: "the refused copy")
            try await it.requireItem(of: error, isCurrent: taken)
        },
        ConformanceRule(1305, "A change of the copy leaves the original as it is.") { it in
            let bytes = ConformanceContext.testBytes(3_000)
            let item = try await it.makeDocument("original", bytes)
            let made = try await copy(it, item, as: it.template("copy"))
            _ = try await it.change(made, to: ConformanceContext.testBytes(40))
            try await it.requireUnchanged(item, bytes, after: "a change of its copy")
        },
        ConformanceRule(1306, "A copy of a deleted document is refused.") { it in
            let item = try await it.makeDocument("original")
            let made = try await copy(it, item, as: it.template("copy"))
            try await it.provider.deleteItem(item.identifier, baseVersion: item.version)
            try await it.requireError(.noSuchItem, from: "a copy of a deleted document") {
                _ = try await copy(it, item, as: it.template("second"))
            }
            try await it.requireNames(made.filename, after: "the refused copy")
        },
    ]

    private static func copy(
        _ it: ConformanceContext, _ item: Item, as template: ItemTemplate
    ) async throws -> Item {
        let reason = "the store cannot copy"
        guard let provider = it.abilities.copies else { throw RuleSkip(reason) }
        return try await unlessUnsupported(reason) {
            try await provider.copyItem(item.identifier, version: item.version.content, as: template)
        }
    }
}

/// The provider's result; skips when the provider says that it cannot do this at all.
func unlessUnsupported<Value>(_ reason: String, _ body: () async throws -> Value) async throws -> Value {
    do {
        return try await body()
    } catch let error as FileProviderError {
        throw error.code == .unsupported ? RuleSkip(reason) : error
    }
}

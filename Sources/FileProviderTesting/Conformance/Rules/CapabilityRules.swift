import FileProvider

/// For stores in which some items may not be changed. An operation that is carried out nevertheless does no harm: it
/// starts from a version that never existed, and a move leads to the item's own place.
extension ConformanceSuite {
    static let capabilityRules: [ConformanceRule] = [
        ConformanceRule(1201, "The store refuses what an item's capabilities do not allow.", in: .store) { it in
            if it.provider.isReadOnly { throw RuleSkip("the store takes no changes") }
            let limited = try it.needSurvey().items.filter { !forbidden($0).isEmpty }
            if limited.isEmpty { throw RuleSkip("every existing item may be changed") }
            for item in StoreSurvey.sample(limited, 20) {
                for (what, capability) in forbidden(item) {
                    try await it.requireError(
                        .permissionDenied, .readOnly, .versionMismatch, from: "\(what) \(item.filename)"
                    ) {
                        try await attempt(capability, item, it)
                    }
                }
            }
        }
    ]

    /// The operations that are not allowed, among those that apply to the item's kind.
    private static func forbidden(_ item: Item) -> [(String, ItemCapabilities)] {
        var all: [(String, ItemCapabilities)] = [("a move of", .renaming), ("a deletion of", .deleting)]
        if item.kind.isFolder { all.append(("a creation in", .addingSubItems)) }
        if item.kind.isDocument {
            all.append(("a change of", .writing))
            if item.size > 0 { all.append(("a download of", .reading)) }
        }
        return all.filter { !item.capabilities.contains($0.1) }
    }

    private static func attempt(_ what: ItemCapabilities, _ item: Item, _ it: ConformanceContext) async throws {
        let (provider, never) = (
            it.provider,
            ItemVersion(
                content: ContentVersion("hydrant-conformance-no-such-version"),
                metadata: MetadataVersion("hydrant-conformance-no-such-version"))
        )
        switch what {
        case .renaming:
            _ = try await provider.moveItem(
                item.identifier, to: item.parentIdentifier, as: item.filename, baseVersion: never)
        case .deleting: try await provider.deleteItem(item.identifier, baseVersion: never)
        case .writing:
            _ = try await provider.itemChanged(
                item.identifier, contents: BytesSource("x"),
                metadata: ItemMetadata(contentModificationDate: item.contentModificationDate), baseVersion: never)
        case .reading: _ = try await it.bytes(of: item, 0..<1)
        default:
            let name = Filename("hydrant-conformance-\(UInt32.random(in: 0 ... .max))")
            let made = try await provider.createItem(
                it.template(name, in: item.identifier), contents: BytesSource("x"))
            try? await provider.deleteItem(made.identifier, baseVersion: made.version)
        }
    }
}

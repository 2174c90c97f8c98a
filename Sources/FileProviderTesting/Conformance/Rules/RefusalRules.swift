import FileProvider

/// Rules for a store that takes no changes. A change that is carried out nevertheless does no harm: changes and
/// deletions start from a version that never existed, and a move leads to the item's own place.
extension ConformanceSuite {
    static let refusalRules: [ConformanceRule] = [
        ConformanceRule(1018, "A store that takes no changes refuses each change with readOnly.", in: .store) { it in
            try needsReadOnly(it)
            for attempt in try attempts(it) {
                try await it.requireError(.readOnly, from: attempt.what) { try await attempt.make() }
            }
        },
        ConformanceRule(1019, "A store that takes no changes does not make the changes it refuses.", in: .store) { it in
            try needsReadOnly(it)
            for attempt in try attempts(it) { try? await attempt.make() }
            try await requireSameAsAtFirst(it)
        },
    ]

    private static func needsReadOnly(_ it: ConformanceContext) throws {
        guard it.provider.isReadOnly else { throw RuleSkip("the store takes changes") }
    }

    private struct Attempt {
        var what: String
        var make: @Sendable () async throws -> Void
    }

    private static func attempts(_ it: ConformanceContext) throws -> [Attempt] {
        let provider = it.provider
        let never = ItemVersion(
            content: ContentVersion("hydrant-conformance-no-such-version"),
            metadata: MetadataVersion("hydrant-conformance-no-such-version"))
        let name = Filename("hydrant-conformance-\(UInt32.random(in: 0 ... .max))")
        var attempts = [
            Attempt(what: "a creation") {
                _ = try await provider.createItem(it.template(name), contents: BytesSource("x"))
            }
        ]
        guard let item = try it.needSurvey().documents.first else { return attempts }
        let metadata = ItemMetadata(contentModificationDate: item.contentModificationDate)
        attempts += [
            Attempt(what: "a change of \(item.filename)") {
                _ = try await provider.itemChanged(
                    item.identifier, contents: BytesSource("x"), metadata: metadata, baseVersion: never)
            },
            Attempt(what: "a move of \(item.filename)") {
                _ = try await provider.moveItem(
                    item.identifier, to: item.parentIdentifier, as: item.filename, baseVersion: never)
            },
            Attempt(what: "a deletion of \(item.filename)") {
                try await provider.deleteItem(item.identifier, baseVersion: never)
            },
        ]
        if let provider = ProviderAbilities(of: provider).metadata {
            attempts.append(
                Attempt(what: "an update of the metadata of \(item.filename)") {
                    _ = try await provider.updateMetadata(item.identifier, to: metadata, baseVersion: never)
                })
        }
        return attempts
    }
}

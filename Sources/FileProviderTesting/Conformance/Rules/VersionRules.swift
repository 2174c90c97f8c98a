import FileProvider

/// Rules for providers that are ``FileProvider/VersionKeeping``, and whose store keeps versions after all.
extension ConformanceSuite {
    static let versionRules: [ConformanceRule] = [
        ConformanceRule(2101, "A kept version has the size and the bytes that the document had.") { it in
            let (item, versions) = try await needVersions(it)
            for version in versions {
                guard sizes.contains(Int(version.size)) else {
                    throw RuleFailure(
                        "version “\(version.identifier)” has \(version.size) bytes; the document had \(sizes)")
                }
                let bytes = try await provided(it, version, item)
                try it.require(
                    bytes == ConformanceContext.testBytes(Int(version.size)),
                    "version “\(version.identifier)” of \(version.size) bytes comes as \(bytes.count) bytes, or as others"
                )
            }
        },
        ConformanceRule(2102, "The present contents are not among the kept versions.") { it in
            let (item, versions) = try await needVersions(it)
            try it.require(
                !versions.contains { $0.size == item.size }, "the present contents, of \(item.size) bytes, are listed")
        },
        ConformanceRule(2103, "Versions come newest first, and at most as many as requested.") { it in
            let (item, versions) = try await needVersions(it)
            // (Each change made the document larger.)
            let found = versions.map(\.size)
            try it.require(found == found.sorted(by: >), "the sizes of versions of a growing document are \(found)")
            let one = try await listed(it, item, limit: 1)
            try it.require(
                one.map(\.identifier) == versions.prefix(1).map(\.identifier),
                "of \(versions.count), at most 1 requested, it lists \(one.count), or not the newest")
        },
        ConformanceRule(2104, "A version that the store does not keep is refused.") { it in
            let (item, versions) = try await needVersions(it)
            var unknown = versions[0]
            unknown.identifier = "0123456789"
            try await it.requireError(.noSuchItem, from: "reading a version that nobody made") { [unknown] in
                _ = try await provided(it, unknown, item)
            }
        },
        ConformanceRule(2105, "Versions of a deleted document are refused.") { it in
            let (item, _) = try await needVersions(it)
            try await it.provider.deleteItem(item.identifier, baseVersion: item.version)
            try await it.requireError(.noSuchItem, from: "the versions of a deleted document") {
                _ = try await listed(it, item, limit: 10)
            }
        },
    ]

    /// The sizes of a document that is changed twice, in bytes.
    private static let sizes = [700, 800, 900]

    /// Makes a document, changes it twice, and lists its versions.
    private static func needVersions(_ it: ConformanceContext) async throws -> (Item, [DocumentVersion]) {
        guard it.abilities.keptVersions?.keepsVersions == true else { throw RuleSkip("the store keeps no versions") }
        var item = try await it.makeDocument("report.txt", ConformanceContext.testBytes(sizes[0]))
        // (Nextcloud names versions by the second of their dates.)
        var seconds = ConformanceContext.date.seconds
        for size in sizes.dropFirst() {
            seconds += 60
            item = try await it.provider.itemChanged(
                item.identifier, contents: BytesSource(ConformanceContext.testBytes(size)),
                metadata: ItemMetadata(contentModificationDate: FileTime(seconds: seconds)), baseVersion: item.version)
        }
        let versions = try await listed(it, item, limit: 100)
        guard !versions.isEmpty else { throw RuleSkip("the store kept no version of a document that was changed") }
        return (item, versions)
    }

    private static func listed(_ it: ConformanceContext, _ item: Item, limit: Int) async throws -> [DocumentVersion] {
        guard let keeping = it.abilities.keptVersions else { throw RuleSkip("the store keeps no versions") }
        return try await unlessUnsupported("the store keeps no versions") {
            try await keeping.versions(of: item.identifier, limit: limit)
        }
    }

    private static func provided(
        _ it: ConformanceContext, _ version: DocumentVersion, _ item: Item
    ) async throws -> [UInt8] {
        guard let keeping = it.abilities.keptVersions else { throw RuleSkip("the store keeps no versions") }
        let sink = CollectingSink(range: 0..<version.size)
        try await keeping.startProvidingVersion(version, of: item.identifier, into: sink)
        guard let bytes = sink.bytes else {
            throw RuleFailure(
                "only \(sink.receivedCount) of \(version.size) bytes of version “\(version.identifier)” come")
        }
        return bytes
    }
}

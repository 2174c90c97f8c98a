import FileProvider

/// Downloads of existing documents: for every store, also one that takes no changes.
extension ConformanceSuite {
    static let readingRules: [ConformanceRule] = [
        ConformanceRule(1009, "A download of an existing document has as many bytes as its size says.", in: .store) {
            it in
            _ = try it.needLargestDocument()
            for item in try sample(it) {
                do {
                    _ = try await it.bytes(of: item)
                } catch let failure as RuleFailure {
                    throw RuleFailure("\(item.filename), of \(item.size) bytes: \(failure)")
                } catch {
                    throw RuleFailure("\(item.filename), of \(item.size) bytes: cannot be downloaded: \(error)")
                }
            }
        },
        ConformanceRule(1010, "Two downloads of one version have the same bytes.", in: .store) { it in
            _ = try it.needLargestDocument()
            for item in try sample(it) {
                let (first, second) = (try? await it.bytes(of: item), try? await it.bytes(of: item))
                // A download that fails is a matter of rule 1009.
                guard let first, let second else { continue }
                try it.require(
                    ConformanceContext.areSame(first, second[...]),
                    "the contents of \(item.filename) have changed, but their version has not")
            }
        },
        ConformanceRule(
            1011, "A range of an existing document is exact, at the first byte, the last one, and in between.",
            in: .store
        ) { it in
            let item = try it.needLargestDocument()
            let bytes = try await it.bytes(of: item)
            for range in ranges(of: item) {
                let found = try await it.bytes(of: item, range)
                try it.require(
                    ConformanceContext.areSame(found, bytes[Int(range.lowerBound)..<Int(range.upperBound)]),
                    "the bytes \(range) of \(item.filename) are not those of the whole document")
            }
        },
        ConformanceRule(1012, "No byte outside the range is written, for an existing document.", in: .store) { it in
            let item = try it.needLargestDocument()
            for range in ranges(of: item) {
                let sink = CollectingSink(range: range)
                // The provider may fail or not after the sink's refusal.
                try? await it.provider.startProvidingItem(
                    item.identifier, version: item.version.content, range: range, into: sink)
                try it.require(
                    !sink.hasSurplus,
                    "asked for \(range) of \(item.filename), the provider wrote \(sink.writes.suffix(3))")
            }
        },
        ConformanceRule(
            1013, "A version that an existing document does not have is refused, and no byte is sent.", in: .store
        ) { it in
            let item = try it.needLargestDocument()
            let sink = CollectingSink(range: 0..<item.size)
            try await it.requireError(.versionMismatch, from: "a download of a version that never existed") {
                try await it.provider.startProvidingItem(
                    item.identifier, version: ContentVersion("hydrant-conformance-no-such-version"),
                    range: 0..<item.size, into: sink)
            }
            try it.require(sink.receivedCount == 0, "\(sink.receivedCount) bytes of another version were sent")
        },
        ConformanceRule(
            1014, "An item that never existed is neither enumerated as empty nor downloaded.", in: .store
        ) { it in
            let unknown = ItemIdentifier("hydrant-conformance-no-such-item")
            try await it.requireError(.noSuchItem, from: "the enumeration of an identifier that was never given") {
                _ = try await it.provider.enumerateItems(in: unknown, startingAt: nil)
            }
            try await it.requireError(.noSuchItem, from: "a download of an identifier that was never given") {
                try await it.provider.startProvidingItem(
                    unknown, version: ContentVersion("1"), range: 0..<1, into: CollectingSink(range: 0..<1))
            }
        },
        ConformanceRule(1015, "An existing document can be downloaded several times at once.", in: .store) { it in
            let item = try it.needLargestDocument()
            let bytes = try await it.bytes(of: item)
            let others = try sample(it).suffix(4)
            try await withThrowingTaskGroup { group in
                for index in 0..<8 {
                    let start = item.size * Int64(index) / 16
                    let range = start..<start + item.size / 2 + 1
                    group.addTask {
                        try it.require(
                            ConformanceContext.areSame(
                                try await it.bytes(of: item, range),
                                bytes[Int(range.lowerBound)..<Int(range.upperBound)]),
                            "the bytes \(range) of \(item.filename) are wrong")
                    }
                }
                for other in others where other.identifier != item.identifier {
                    group.addTask { _ = try await it.bytes(of: other) }
                }
                try await group.waitForAll()
            }
        },
        ConformanceRule(1016, "A download of an existing document ends soon when it is cancelled.", in: .store) { it in
            try await it.requireCancellationEndsDownload(of: try it.needLargestDocument())
        },
        ConformanceRule(
            1017, "When the sink throws for an existing document, the provider stops and passes the error on.",
            in: .store
        ) { it in
            let item = try it.needLargestDocument()
            try await it.requireError(.cancelled, from: "a download into a sink that refuses") {
                try await it.provider.startProvidingItem(
                    item.identifier, version: item.version.content, range: 0..<item.size, into: RefusingSink())
            }
        },
    ]

    /// Existing documents, small and large.
    private static func sample(_ it: ConformanceContext) throws -> [Item] {
        StoreSurvey.sample(try it.needSurvey().documents, 12)
    }

    /// The whole, both ends, and parts of the middle; for a document of one byte, that byte.
    private static func ranges(of item: Item) -> [Range<Int64>] {
        let (size, middle) = (item.size, item.size / 2)
        var ranges = [0..<size, 0..<1, size - 1..<size, middle..<size, 0..<middle, middle..<middle + 1]
        if size > 2 { ranges += [1..<size - 1, middle - 1..<middle + 1] }
        return ranges.filter { !$0.isEmpty }
    }
}

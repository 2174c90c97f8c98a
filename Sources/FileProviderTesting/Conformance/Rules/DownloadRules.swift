import FileProvider

extension ConformanceSuite {
    static let downloadRules: [ConformanceRule] = [
        ConformanceRule(201, "A download of the whole document has the bytes that were uploaded.") { it in
            let bytes = ConformanceContext.testBytes(100_000)
            let item = try await it.makeDocument("document", bytes)
            try await it.requireContents(item, are: bytes)
        },
        ConformanceRule(202, "A range is exact, at the first byte, the last one, and in between.") { it in
            let bytes = ConformanceContext.testBytes(10_000)
            let item = try await it.makeDocument("document", bytes)
            for range in ranges {
                let found = try await it.bytes(of: item, range)
                try it.require(
                    found == Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]),
                    "the bytes \(range) are not those of the document")
            }
        },
        ConformanceRule(203, "No byte outside the range is written.") { it in
            let item = try await it.makeDocument("document", ConformanceContext.testBytes(10_000))
            for range in ranges {
                let sink = CollectingSink(range: range)
                // The provider may fail or not after the sink's refusal.
                try? await it.provider.startProvidingItem(
                    item.identifier, version: item.version.content, range: range, into: sink)
                try it.require(!sink.hasSurplus, "asked for \(range), the provider wrote \(sink.writes)")
            }
        },
        ConformanceRule(204, "A download of another version is refused, and no byte is sent.") { it in
            let old = try await it.makeDocument("document", ConformanceContext.testBytes(1000))
            let new = try await it.change(old, to: ConformanceContext.testBytes(1000, seed: 2))
            let sink = CollectingSink(range: 0..<1000)
            try await it.requireError(.versionMismatch, from: "a download of an old version") {
                try await it.provider.startProvidingItem(
                    new.identifier, version: old.version.content, range: 0..<1000, into: sink)
            }
            try it.require(sink.receivedCount == 0, "\(sink.receivedCount) bytes of the new version were sent")
        },
        ConformanceRule(205, "A download of a deleted document is refused.") { it in
            let item = try await it.makeDocument()
            try await it.provider.deleteItem(item.identifier, baseVersion: item.version)
            try await it.requireError(.noSuchItem, from: "a download of a deleted document") {
                _ = try await it.bytes(of: item)
            }
        },
        ConformanceRule(206, "When the sink throws, the provider stops and passes the error on.") { it in
            let item = try await it.makeDocument("document", ConformanceContext.testBytes(300_000))
            try await it.requireError(.cancelled, from: "a download into a sink that refuses") {
                try await it.provider.startProvidingItem(
                    item.identifier, version: item.version.content, range: 0..<item.size, into: RefusingSink())
            }
        },
        ConformanceRule(207, "A large document can be downloaded whole, and by ranges in any order.") { it in
            let bytes = ConformanceContext.testBytes(5 << 20 | 3)
            let item = try await it.makeDocument("large", bytes)
            try await it.requireContents(item, are: bytes)
            let middle = item.size / 2
            for range in [middle..<item.size, 0..<middle, middle - 1..<middle + 1] {
                let found = try await it.bytes(of: item, range)
                try it.require(
                    ConformanceContext.areSame(found, bytes[Int(range.lowerBound)..<Int(range.upperBound)]),
                    "the bytes \(range) are wrong")
            }
        },
        ConformanceRule(208, "One document can be downloaded several times at once.") { it in
            let bytes = ConformanceContext.testBytes(200_000)
            let item = try await it.makeDocument("document", bytes)
            try await withThrowingTaskGroup { group in
                for index in 0..<8 {
                    let range = Int64(index) * 20_000..<Int64(index) * 20_000 + 60_000
                    group.addTask { (range, try await it.bytes(of: item, range)) }
                }
                for try await (range, found) in group {
                    try it.require(
                        ConformanceContext.areSame(found, bytes[Int(range.lowerBound)..<Int(range.upperBound)]),
                        "the bytes \(range) are wrong")
                }
            }
        },
        ConformanceRule(209, "A version is good for ranges until the contents change, also after a rename.") { it in
            let bytes = ConformanceContext.testBytes(1000)
            let item = try await it.makeDocument("before", bytes)
            let moved = try await it.provider.moveItem(
                item.identifier, to: it.folder, as: "after", baseVersion: item.version)
            let sink = CollectingSink(range: 10..<20)
            try await it.provider.startProvidingItem(
                moved.identifier, version: item.version.content, range: 10..<20, into: sink)
            try it.require(sink.bytes == Array(bytes[10..<20]), "the bytes are wrong after a rename")
        },
    ]

    /// Ranges of a document of 10,000 bytes.
    private static let ranges: [Range<Int64>] = [
        0..<1, 9_999..<10_000, 0..<10_000, 1..<9_999, 4_096..<8_192, 4_095..<4_097, 9_000..<10_000, 5_000..<5_001,
    ]
}

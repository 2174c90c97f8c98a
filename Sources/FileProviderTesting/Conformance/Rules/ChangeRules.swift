import FileProvider

extension ConformanceSuite {
    static let changeRules: [ConformanceRule] = [
        ConformanceRule(401, "Changed contents replace the old ones whole, longer, shorter and empty.") { it in
            var item = try await it.makeDocument("document", ConformanceContext.testBytes(1000))
            for (index, count) in [5000, 10, 0, 300_000].enumerated() {
                let bytes = ConformanceContext.testBytes(count, seed: UInt64(index + 7))
                item = try await it.change(item, to: bytes)
                try it.require(item.size == Int64(count), "the returned size is \(item.size), not \(count)")
                try await it.requireContents(item, are: bytes)
            }
            try await it.requireNames("document", after: "the changes")
        },
        ConformanceRule(402, "A change from a stale base version is refused with the current item; nothing changes.") {
            it in
            let old = try await it.makeDocument("document", ConformanceContext.testBytes(100))
            let bytes = ConformanceContext.testBytes(100, seed: 2)
            let new = try await it.change(old, to: bytes)
            let error = try await it.requireError(.versionMismatch, from: "a change from a stale base version") {
                _ = try await it.change(old, to: ConformanceContext.testBytes(100, seed: 3))
            }
            try await it.requireUnchanged(new, bytes, after: "the refused change")
            try await it.requireItem(of: error, isCurrent: new)
        },
        ConformanceRule(403, "A change returns the same item as a fresh placeholder.") { it in
            let item = try await it.makeDocument()
            try await it.requireIsCurrent(try await it.change(item, to: ConformanceContext.testBytes(50)))
        },
        ConformanceRule(404, "A change keeps identifier, name and folder.") { it in
            let old = try await it.makeDocument()
            let new = try await it.change(old, to: ConformanceContext.testBytes(50))
            try it.require(new.identifier == old.identifier, "\(old.identifier) became \(new.identifier)")
            try it.require(
                new.filename == old.filename && new.parentIdentifier == old.parentIdentifier, "it is now \(new)")
        },
        ConformanceRule(405, "Different contents have different versions, also of one size and in quick succession.") {
            it in
            var item = try await it.makeDocument("document", ConformanceContext.testBytes(64))
            var versions = [item.version.content]
            for seed in 2...6 {
                item = try await it.change(item, to: ConformanceContext.testBytes(64, seed: UInt64(seed)))
                try it.require(
                    !versions.contains(item.version.content), "the version \(item.version.content) came twice")
                versions.append(item.version.content)
            }
        },
        ConformanceRule(406, "A change after a rename of the document is not refused.") { it in
            let item = try await it.makeDocument("before")
            let moved = try await it.provider.moveItem(
                item.identifier, to: it.folder, as: "after", baseVersion: item.version)
            var stale = moved
            stale.version.metadata = item.version.metadata
            let bytes = ConformanceContext.testBytes(50)
            try await it.requireContents(try await it.change(stale, to: bytes), are: bytes)
            try await it.requireNames("after", after: "the change")
        },
        ConformanceRule(407, "Contents that end too early change nothing.") { it in
            let bytes = ConformanceContext.testBytes(2000)
            let item = try await it.makeDocument("document", bytes)
            try await it.requireError(from: "a change from 500 bytes that announce 1,000") {
                _ = try await upload(
                    it, item, ShortSource(size: 1000, bytes: ConformanceContext.testBytes(500, seed: 2)))
            }
            try await it.requireUnchanged(item, bytes, after: "the failed change")
        },
        ConformanceRule(408, "Contents that cannot be read to the end change nothing.") { it in
            let bytes = ConformanceContext.testBytes(2000)
            let item = try await it.makeDocument("document", bytes)
            try await it.requireError(from: "a change from contents that fail") {
                _ = try await upload(it, item, FailingSource(size: 300_000, failsAt: 150_000))
            }
            try await it.requireUnchanged(item, bytes, after: "the failed change")
            try await it.requireNames("document", after: "the failed change")
        },
        ConformanceRule(409, "A change of a deleted document does not bring it back.") { it in
            let item = try await it.makeDocument()
            try await it.provider.deleteItem(item.identifier, baseVersion: item.version)
            try await it.requireError(.noSuchItem, from: "a change of a deleted document") {
                _ = try await it.change(item, to: [1, 2, 3])
            }
            try await it.requireNames(after: "the refused change")
        },
        ConformanceRule(410, "A change leaves other documents as they are.") { it in
            let bytes = ConformanceContext.testBytes(500)
            let bystander = try await it.makeDocument("bystander", bytes)
            let item = try await it.makeDocument("document", bytes)
            _ = try await it.change(item, to: ConformanceContext.testBytes(500, seed: 2))
            try await it.requireUnchanged(bystander, bytes, after: "a change of another document")
        },
    ]

    private static func upload(
        _ it: ConformanceContext, _ item: Item, _ contents: any ContentSource
    ) async throws -> Item {
        try await it.provider.itemChanged(
            item.identifier, contents: contents,
            metadata: ItemMetadata(contentModificationDate: ConformanceContext.date), baseVersion: item.version)
    }
}

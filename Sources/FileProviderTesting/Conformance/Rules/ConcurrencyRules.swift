import FileProvider

extension ConformanceSuite {
    static let concurrencyRules: [ConformanceRule] = [
        ConformanceRule(801, "Different items can be made at the same time.") { it in
            try await withThrowingTaskGroup { group in
                for index in 0..<16 {
                    group.addTask {
                        let bytes = ConformanceContext.testBytes(5000, seed: UInt64(index))
                        let item = try await it.makeDocument(Filename("document-\(index)"), bytes)
                        try await it.requireContents(item, are: bytes)
                    }
                }
                try await group.waitForAll()
            }
            let names = try await it.items().map(\.filename)
            try it.require(names.count == 16 && Set(names).count == 16, "the folder has \(names.sorted())")
        },
        ConformanceRule(802, "Different items can be changed, moved and deleted at the same time.") { it in
            var items: [Item] = []
            for index in 0..<12 { items.append(try await it.makeDocument(Filename("document-\(index)"))) }
            try await withThrowingTaskGroup { group in
                for (index, item) in items.enumerated() {
                    group.addTask { try await treat(it, item, index) }
                }
                try await group.waitForAll()
            }
            let names = try await it.items().map(\.filename).sorted()
            var right: [Filename] = []
            for index in 0..<12 where index % 3 != 2 {
                right.append(Filename(index % 3 == 0 ? "document-\(index)" : "moved-\(index)"))
            }
            right.sort()
            try it.require(names == right, "the folder has \(names), not \(right)")
        },
        ConformanceRule(803, "When several creations use one name at the same time, one of them succeeds.") { it in
            let winners = try await race(it) { index in
                _ = try await it.provider.createItem(
                    it.template("name"), contents: BytesSource(ConformanceContext.testBytes(2_100, seed: UInt64(index)))
                )
            } refusedWith: {
                $0 == .filenameCollision
            }
            try await it.requireNames("name", after: "the race")
            guard let item = try await it.items().first else { return }
            try await it.requireContents(
                item, are: ConformanceContext.testBytes(2_100, seed: UInt64(winners[0])))
        },
        ConformanceRule(804, "When clients change one version at the same time, one of them succeeds.") { it in
            let other = try it.needOtherClient()
            for round in 0..<5 {
                let item = try await it.makeDocument(Filename("document-\(round)"))
                let winners = try await race(it) { index in
                    _ = try await it.change(
                        item, to: ConformanceContext.testBytes(3000, seed: UInt64(index + 20)),
                        client: index % 2 == 0 ? it.provider : other)
                } refusedWith: {
                    $0 == .versionMismatch
                }
                try await it.requireContents(
                    item, are: ConformanceContext.testBytes(3000, seed: UInt64(winners[0] + 20)))
            }
        },
        ConformanceRule(805, "A download that is cancelled ends soon.") { it in
            let item = try await it.makeDocument("document", ConformanceContext.testBytes(300_000))
            try await it.requireCancellationEndsDownload(of: item)
        },
        ConformanceRule(806, "A creation in a cancelled task is done completely or not at all.") { it in
            let bytes = ConformanceContext.testBytes(300_000)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await it.provider.createItem(it.template("document"), contents: BytesSource(bytes))
            }
            let result = await task.result
            let found = try await it.items()
            if case .success = result { try it.require(found.count == 1, "it returned, but made \(found.count) items") }
            // After an error the store may have the item nevertheless, but then completely.
            if let item = found.first { try await it.requireContents(item, are: bytes) }
        },
    ]

    private static func treat(_ it: ConformanceContext, _ item: Item, _ index: Int) async throws {
        switch index % 3 {
        case 0:
            let bytes = ConformanceContext.testBytes(4000, seed: UInt64(index))
            try await it.requireContents(try await it.change(item, to: bytes), are: bytes)
        case 1:
            _ = try await it.provider.moveItem(
                item.identifier, to: it.folder, as: Filename("moved-\(index)"), baseVersion: item.version)
        default:
            try await it.provider.deleteItem(item.identifier, baseVersion: item.version)
        }
    }

    /// Runs four calls at once, exactly one of which may succeed; returns its index.
    private static func race(
        _ it: ConformanceContext, _ body: @escaping @Sendable (Int) async throws -> Void,
        refusedWith isRight: (FileProviderError.Code) -> Bool
    ) async throws -> [Int] {
        var winners: [Int] = []
        try await withThrowingTaskGroup { group in
            for index in 0..<4 {
                group.addTask { () async throws -> (Int, FileProviderError?) in
                    do {
                        try await body(index)
                        return (index, nil)
                    } catch let error as FileProviderError {
                        return (index, error)
                    }
                }
            }
            for try await (index, error) in group {
                guard let error else {
                    winners.append(index)
                    continue
                }
                try it.require(isRight(error.code), "a loser of the race got: \(error)")
            }
        }
        try it.require(winners.count == 1, "\(winners.count) of 4 succeeded")
        return winners
    }
}

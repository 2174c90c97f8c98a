import FileProvider

/// What must hold for the items that a store has already: for every store, also one that takes no changes.
extension ConformanceSuite {
    static let walkRules: [ConformanceRule] = [
        ConformanceRule(1001, "Every folder that is there can be enumerated to its end.", in: .store) { it in
            if let problem = it.surveyProblem { throw RuleFailure(problem) }
        },
        ConformanceRule(1002, "No item that is there is enumerated twice, in one folder or in two.", in: .store) { it in
            var places: [ItemIdentifier: ItemIdentifier] = [:]
            for listing in try it.needSurvey().listings {
                for item in listing.items {
                    if let before = places.updateValue(listing.folder, forKey: item.identifier) {
                        throw RuleFailure(
                            "\(item.identifier) (\(item.filename)) is in \(before), and again in \(listing.folder)")
                    }
                }
            }
        },
        ConformanceRule(1003, "A placeholder of what is there says what the enumeration says.", in: .store) { it in
            for item in StoreSurvey.sample(try it.needItems(), 40) {
                try it.requireSame(
                    item, try await it.placeholder(item), "\(item.filename) as enumerated", "its placeholder")
            }
        },
        ConformanceRule(1004, "What is there has the folder in which it is enumerated as its parent.", in: .store) {
            it in
            _ = try it.needItems()
            for listing in try it.needSurvey().listings {
                for item in listing.items {
                    try it.require(
                        item.parentIdentifier == listing.folder,
                        "\(item.filename) is in \(listing.folder), and says that it is in \(item.parentIdentifier)")
                }
            }
        },
        ConformanceRule(1005, "The names that are there are possible, and different in one folder.", in: .store) { it in
            _ = try it.needItems()
            for listing in try it.needSurvey().listings {
                var owners: [Filename: ItemIdentifier] = [:]
                for item in listing.items {
                    if let problem = item.filename.problem {
                        throw RuleFailure("of \(item.identifier) (“\(item.filename)”) \(problem)")
                    }
                    let other = owners.updateValue(item.identifier, forKey: item.filename) ?? item.identifier
                    // The same item twice is another matter: rule 1002.
                    try it.require(
                        other == item.identifier,
                        "\(item.identifier) and \(other) are both called \(item.filename), in one folder")
                }
            }
        },
        ConformanceRule(1006, "Identifiers that are there have 1 to 1,024 bytes.", in: .store) { it in
            for item in try it.needItems() {
                let count = item.identifier.rawValue.utf8.count
                try it.require((1...1024).contains(count), "the identifier of \(item.filename) has \(count) bytes")
            }
        },
        ConformanceRule(
            1007, "No size that is there is negative, and folders and links have the size 0.", in: .store
        ) { it in
            for item in try it.needItems() {
                try it.require(
                    item.kind.isDocument ? item.size >= 0 : item.size == 0,
                    "\(item.filename) (\(item.kind)) has the size \(item.size)")
            }
        },
        ConformanceRule(1008, "A second walk finds what the first one found, unchanged.", in: .store) { it in
            try await requireSameAsAtFirst(it)
        },
    ]

    /// The store says what it said at the beginning.
    static func requireSameAsAtFirst(_ it: ConformanceContext) async throws {
        _ = try it.needItems()
        for before in try it.needSurvey().listings {
            let found = try await it.items(in: before.folder, atMost: StoreSurvey.mostItems)
            let after = Dictionary(found.map { ($0.identifier, $0) }) { first, _ in first }
            let unknown = Set(after.keys).subtracting(before.items.map(\.identifier))
            try it.require(unknown.isEmpty, "there is more now: \(unknown.compactMap { after[$0]?.filename }.sorted())")
            for item in before.items {
                guard let now = after[item.identifier] else {
                    throw RuleFailure("\(item.filename) (\(item.identifier)) is not there any more")
                }
                try it.requireSame(item, now, "\(item.filename) at first", "the same later")
            }
        }
    }
}

import FileProvider

/// Rules for the items that a store has already: for every store, also one that takes no changes.
extension ConformanceSuite {
    static let walkRules: [ConformanceRule] = [
        ConformanceRule(1001, "Every existing folder can be enumerated to its end.", in: .store) { it in
            if let problem = it.surveyProblem { throw RuleFailure(problem) }
        },
        ConformanceRule(1002, "No existing item is enumerated twice, in one folder or in two.", in: .store) { it in
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
        ConformanceRule(1003, "A placeholder of an existing item agrees with the enumeration.", in: .store) { it in
            for item in StoreSurvey.sample(try it.needItems(), 40) {
                try it.requireSame(
                    item, try await it.placeholder(item), "\(item.filename) as enumerated", "its placeholder")
            }
        },
        ConformanceRule(1004, "An existing item has the enumerated folder as its parent.", in: .store) {
            it in
            _ = try it.needItems()
            for listing in try it.needSurvey().listings {
                for item in listing.items {
                    try it.require(
                        item.parentIdentifier == listing.folder,
                        "\(item.filename) is in \(listing.folder), but its parent is \(item.parentIdentifier)")
                }
            }
        },
        ConformanceRule(1005, "Existing names are valid, and different in one folder.", in: .store) { it in
            _ = try it.needItems()
            for listing in try it.needSurvey().listings {
                var owners: [Filename: ItemIdentifier] = [:]
                for item in listing.items {
                    if let problem = item.filename.problem {
                        throw RuleFailure("\(item.identifier) (“\(item.filename)”): \(problem)")
                    }
                    let other = owners.updateValue(item.identifier, forKey: item.filename) ?? item.identifier
                    // An item that appears twice is a matter of rule 1002.
                    try it.require(
                        other == item.identifier,
                        "\(item.identifier) and \(other) are both called \(item.filename), in one folder")
                }
            }
        },
        ConformanceRule(1006, "Existing identifiers have 1 to 1,024 bytes.", in: .store) { it in
            for item in try it.needItems() {
                let count = item.identifier.rawValue.utf8.count
                try it.require((1...1024).contains(count), "the identifier of \(item.filename) has \(count) bytes")
            }
        },
        ConformanceRule(
            1007, "No existing item has a negative size, and folders and links have the size 0.", in: .store
        ) { it in
            for item in try it.needItems() {
                try it.require(
                    item.kind.isDocument ? item.size >= 0 : item.size == 0,
                    "\(item.filename) (\(item.kind)) has the size \(item.size)")
            }
        },
        ConformanceRule(1008, "A second walk finds the items of the first one, unchanged.", in: .store) { it in
            try await requireSameAsAtFirst(it)
        },
    ]

    /// Requires that the items of the survey have not changed.
    static func requireSameAsAtFirst(_ it: ConformanceContext) async throws {
        _ = try it.needItems()
        for before in try it.needSurvey().listings {
            let found = try await it.items(in: before.folder, atMost: StoreSurvey.mostItems)
            let after = Dictionary(found.map { ($0.identifier, $0) }) { first, _ in first }
            let unknown = Set(after.keys).subtracting(before.items.map(\.identifier))
            try it.require(
                unknown.isEmpty, "there are new items: \(unknown.compactMap { after[$0]?.filename }.sorted())")
            for item in before.items {
                guard let now = after[item.identifier] else {
                    throw RuleFailure("\(item.filename) (\(item.identifier)) is gone")
                }
                try it.requireSame(item, now, "\(item.filename) at first", "the same later")
            }
        }
    }
}

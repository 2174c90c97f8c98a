import FileProvider

extension ConformanceSuite {
    static let listingRules: [ConformanceRule] = [
        ConformanceRule(101, "The topmost folder is the root container and its own parent.", in: .store) {
            it in
            let root = try await it.provider.providePlaceholder(for: .rootContainer)
            try it.require(root.identifier == .rootContainer, "its identifier is \(root.identifier)")
            try it.require(root.parentIdentifier == .rootContainer, "its parent is \(root.parentIdentifier)")
            try it.require(root.kind.isFolder, "it is not a folder")
        },
        ConformanceRule(102, "An enumeration over all pages has each item exactly once.") { it in
            try await makeNine(it)
            let items = try await it.items()
            let names = items.map(\.filename).sorted()
            try it.require(names == nine.sorted(), "the folder has \(nine.sorted()), but enumerated were \(names)")
            try it.require(Set(items.map(\.identifier)).count == 9, "two items have the same identifier")
        },
        ConformanceRule(103, "A placeholder agrees with the enumeration.") { it in
            try await makeNine(it)
            for item in try await it.items() {
                try it.requireSame(item, try await it.placeholder(item), "the enumerated item", "its placeholder")
            }
        },
        ConformanceRule(104, "An empty folder is enumerated to its end, without items, any number of times.") {
            it in
            for _ in 0..<3 {
                let items = try await it.items()
                try it.require(items.isEmpty, "it has \(items.map(\.filename))")
            }
        },
        ConformanceRule(105, "An enumeration has only items directly in the folder, with that folder as parent.") {
            it in
            let inner = try await it.makeFolder("inner")
            _ = try await it.makeDocument("deep", in: inner.identifier)
            _ = try await it.makeDocument("shallow")
            for (folder, names) in [(it.folder, ["inner", "shallow"]), (inner.identifier, ["deep"])] {
                let items = try await it.items(in: folder)
                try it.require(
                    items.map(\.filename.string).sorted() == names,
                    "enumerated were \(items.map(\.filename)), right is \(names)")
                try it.require(items.allSatisfy { $0.parentIdentifier == folder }, "an item has another parent")
            }
        },
        ConformanceRule(106, "An enumeration of a deleted folder is refused.") { it in
            let gone = try await it.makeFolder("gone")
            try await it.provider.deleteItem(gone.identifier, baseVersion: gone.version)
            try await it.requireError(.noSuchItem, from: "the enumeration of a deleted folder") {
                _ = try await it.items(in: gone.identifier)
            }
        },
        ConformanceRule(107, "An item that stays in a changing folder is on one of the pages.") { it in
            let made = try await makeMany(it, 30)
            let first = try await it.provider.enumerateItems(in: it.folder, startingAt: nil)
            guard var page = first.nextPage else { throw RuleSkip("30 items came on one page") }
            // Some items of the first page go, and new ones come.
            let leaving = first.items.prefix(2)
            for item in leaving { try await it.provider.deleteItem(item.identifier, baseVersion: item.version) }
            for index in 0..<3 { _ = try await it.makeDocument(Filename("new-\(index)")) }
            var seen = Set(first.items.map(\.identifier))
            for _ in 0..<1000 {
                let next = try await it.provider.enumerateItems(in: it.folder, startingAt: page)
                seen.formUnion(next.items.map(\.identifier))
                guard let following = next.nextPage else { break }
                page = following
            }
            // The deleted items were on the first page, so they are among the seen.
            let missing = made.filter { !seen.contains($0.identifier) }
            try it.require(missing.isEmpty, "on no page: \(missing.map(\.filename))")
        },
        ConformanceRule(108, "An unchanged item keeps its identifier, dates and versions.") { it in
            try await makeNine(it)
            let before = try await it.items().sorted { $0.filename < $1.filename }
            let after = try await it.items().sorted { $0.filename < $1.filename }
            for (a, b) in zip(before, after) { try it.requireSame(a, b, "the first look", "the second") }
        },
        ConformanceRule(109, "Identifiers have 1 to 1,024 bytes, and folders the size 0.") { it in
            try await makeNine(it)
            for item in try await it.items() {
                let count = item.identifier.rawValue.utf8.count
                try it.require((1...1024).contains(count), "the identifier of \(item.filename) has \(count) bytes")
                try it.require(!item.kind.isFolder || item.size == 0, "\(item.filename) has the size \(item.size)")
            }
        },
        ConformanceRule(110, "An item that never existed is refused as noSuchItem.", in: .store) {
            it in
            try await it.requireError(.noSuchItem, from: "a placeholder of an identifier that was never given") {
                _ = try await it.provider.providePlaceholder(
                    for: ItemIdentifier("hydrant-conformance-no-such-item"))
            }
        },
    ]

    private static let nine: [Filename] = [
        "document-0", "document-1", "document-2", "document-3", "document-4", "document-5", "document-6",
        "folder-a", "folder-b",
    ]

    private static func makeNine(_ it: ConformanceContext) async throws {
        for (index, name) in nine.prefix(7).enumerated() {
            _ = try await it.makeDocument(name, ConformanceContext.testBytes(index * 10))
        }
        for name in nine.suffix(2) { _ = try await it.makeFolder(name) }
    }

    private static func makeMany(_ it: ConformanceContext, _ count: Int) async throws -> [Item] {
        var items: [Item] = []
        for index in 0..<count { items.append(try await it.makeDocument(Filename("document-\(index)"))) }
        return items
    }
}

import FileProvider

/// The items that a store has already, as found by a walk over its folders, within bounds.
struct StoreSurvey: Sendable {
    /// The enumeration of one folder.
    struct Listing: Sendable {
        let folder: ItemIdentifier
        let items: [Item]
    }

    /// Enough to find faults, and quick in a store of millions of items.
    static let mostFolders = 30
    static let mostItems = 1_000
    /// The largest document that is downloaded.
    static let largestDownload: Int64 = 4 << 20

    private(set) var listings: [Listing] = []
    var items: [Item] { listings.flatMap(\.items) }

    /// Walks from the context's folder on, breadth first.
    init(of it: ConformanceContext) async throws {
        var waiting = [it.folder]
        var seen: Set<ItemIdentifier> = [it.folder]
        var count = 0
        while !waiting.isEmpty, listings.count < Self.mostFolders, count < Self.mostItems {
            let folder = waiting.removeFirst()
            let items: [Item]
            do {
                items = try await it.items(in: folder, atMost: Self.mostItems)
            } catch let error as RuleFailure {
                throw error
            } catch {
                throw RuleFailure("the enumeration of \(folder) failed: \(error)")
            }
            listings.append(Listing(folder: folder, items: items))
            count += items.count
            for item in items where item.kind.isFolder && item.capabilities.contains(.reading) {
                // A folder that is enumerated twice is walked once: rule 1002 reports it.
                if seen.insert(item.identifier).inserted { waiting.append(item.identifier) }
            }
        }
    }

    /// Documents that can be downloaded as a sample, the smallest first.
    var documents: [Item] {
        items.filter {
            $0.kind.isDocument && $0.capabilities.contains(.reading) && (1...Self.largestDownload).contains($0.size)
        }.sorted { ($0.size, $0.identifier.rawValue) < ($1.size, $1.identifier.rawValue) }
    }

    /// At most `count` elements, from the whole length of the array, its first and last among them.
    static func sample<Element>(_ array: [Element], _ count: Int) -> [Element] {
        guard array.count > count, count > 1 else { return Array(array.prefix(count)) }
        return (0..<count).map { array[$0 * (array.count - 1) / (count - 1)] }
    }
}

extension ConformanceContext {
    /// The survey, or a skip when the store could not be walked.
    func needSurvey() throws -> StoreSurvey {
        guard let survey else { throw RuleSkip("the store could not be walked: see rule 1001") }
        return survey
    }

    /// The existing items, or a skip when there are none.
    func needItems() throws -> [Item] {
        let items = try needSurvey().items
        if items.isEmpty { throw RuleSkip("the store has no items to look at") }
        return items
    }

    /// The largest existing document that is not too large, or a skip.
    func needLargestDocument() throws -> Item {
        guard let item = try needSurvey().documents.last else {
            throw RuleSkip("the store has no document to download")
        }
        return item
    }
}

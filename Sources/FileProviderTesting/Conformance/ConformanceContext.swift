import FileProvider
import Synchronization

/// The provider, and a new empty folder, for one rule.
struct ConformanceContext: Sendable {
    let provider: any FileProviderExtension
    let otherClient: (any FileProviderExtension)?
    /// The rule's own folder; for a rule that changes nothing, the scratch folder.
    let folder: ItemIdentifier
    /// The time limit for a signal to arrive, and for a cancelled call to end.
    let patience: Duration
    /// For rules that change nothing: the items of the scratch folder at the beginning, or why they are unknown.
    var survey: StoreSurvey?
    var surveyProblem: String?

    var abilities: ProviderAbilities { ProviderAbilities(of: provider) }

    /// The second client, or a skip.
    func needOtherClient() throws -> any FileProviderExtension {
        guard let otherClient else { throw RuleSkip("no second client of the store was given") }
        return otherClient
    }

    /// In whole seconds, which every store can keep.
    static let date = FileTime(seconds: 1_700_000_000)

    func template(
        _ name: Filename, in folder: ItemIdentifier? = nil, kind: ItemKind = .document
    ) -> ItemTemplate {
        ItemTemplate(
            parentIdentifier: folder ?? self.folder, filename: name, kind: kind,
            contentModificationDate: Self.date)
    }

    func makeDocument(
        _ name: Filename = "document", _ bytes: [UInt8] = Array("contents".utf8),
        in folder: ItemIdentifier? = nil
    ) async throws -> Item {
        try await make(template(name, in: folder), BytesSource(bytes))
    }

    func makeFolder(_ name: Filename, in folder: ItemIdentifier? = nil) async throws -> Item {
        try await make(template(name, in: folder, kind: .folder), nil)
    }

    private func make(_ template: ItemTemplate, _ contents: BytesSource?) async throws -> Item {
        do {
            return try await provider.createItem(template, contents: contents)
        } catch  where error.code == .unsupported || error.code == .readOnly {
            throw RuleSkip("the store cannot make this: \(error)")
        } catch {
            throw RuleFailure("making \(template.filename) failed: \(error)")
        }
    }

    /// Changes a document's contents; the base version is that of `item`.
    func change(_ item: Item, to bytes: [UInt8], client: (any FileProviderExtension)? = nil) async throws -> Item {
        try await (client ?? provider).itemChanged(
            item.identifier, contents: BytesSource(bytes),
            metadata: ItemMetadata(contentModificationDate: Self.date), baseVersion: item.version)
    }

    func placeholder(_ item: Item) async throws -> Item {
        try await provider.providePlaceholder(for: item.identifier)
    }

    /// The items of a folder, over all pages; in a walk of a large store, no more pages than hold `most` items.
    func items(in folder: ItemIdentifier? = nil, atMost most: Int = .max) async throws -> [Item] {
        var items: [Item] = []
        var seen: Set<Page> = []
        var page: Page?
        repeat {
            let result = try await provider.enumerateItems(in: folder ?? self.folder, startingAt: page)
            items += result.items
            page = result.nextPage
            if let page, !seen.insert(page).inserted {
                throw RuleFailure("the enumeration goes round in circles: a page came twice")
            }
            try Task.checkCancellation()
        } while page != nil && items.count < most
        return items
    }

    /// The bytes of a range, or all; writes outside the range are not checked here.
    func bytes(of item: Item, _ range: Range<Int64>? = nil) async throws -> [UInt8] {
        let range = range ?? 0..<item.size
        // Hydrant never asks for an empty range.
        if range.isEmpty { return [] }
        let sink = CollectingSink(range: range)
        try await provider.startProvidingItem(
            item.identifier, version: item.version.content, range: range, into: sink)
        guard let bytes = sink.bytes else {
            throw RuleFailure(
                "the download of \(range) returned, but only \(sink.receivedCount) bytes of it have arrived")
        }
        return bytes
    }

    /// Deletes an item and all below it.
    func removeTree(_ item: Item) async throws {
        if item.kind.isFolder {
            for child in try await items(in: item.identifier) { try await removeTree(child) }
        }
        try await provider.deleteItem(item.identifier, baseVersion: item.version)
    }

    /// Pseudo-random bytes, the same in every run.
    static func testBytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        if count < 50_000 { return makeTestBytes(count, seed: seed) }
        // Large ones are slow to make, and cached.
        let key = "\(count) \(seed)"
        if let bytes = largeBytes.withLock({ $0[key] }) { return bytes }
        let bytes = makeTestBytes(count, seed: seed)
        largeBytes.withLock { $0[key] = bytes }
        return bytes
    }

    private static let largeBytes = Mutex<[String: [UInt8]]>([:])

    private static func makeTestBytes(_ count: Int, seed: UInt64) -> [UInt8] {
        var state = seed
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count {
            // Source: Steele, Lea, Flood, SplitMix64: a counter, mixed.
            state &+= 0x9e37_79b9_7f4a_7c15
            var word = (state ^ (state >> 30)) &* 0xbf58_476d_1ce4_e5b9
            word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
            withUnsafeBytes(of: word ^ (word >> 31)) { bytes.append(contentsOf: $0) }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}

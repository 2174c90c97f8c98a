import FileProvider

/// Which items the entries of a listing are, told while it comes, on a server that has no identifiers.
///
/// What can be told of an entry alone is told at once: its name is known, and so is what it has; or nothing is known of the
/// folder, and too much is new in it to be looked for elsewhere. What is new or changed in a folder that is known waits for
/// the end: whether somebody has renamed it, shows only when it is known what is missing. So kept are what the catalog knows
/// of the folder, a mark for each of that which was seen, and the entries that wait.
struct ListingRecognition {
    /// As the listing has it, with what it is.
    typealias Identified = (entry: Listing.Entry, identifier: ItemIdentifier)

    private let recognition: Recognition
    private struct Known {
        var items: [KnownItem]
        /// Where in it one is.
        var byName: [Filename: Int]
        /// It is in the listing, as it was, or is left out of it.
        var isSeen: [Bool]
    }
    private var known: Known?
    private var waiting: [Listing.Entry] = []
    /// How many of all that ever waited may be known in another folder.
    private var sought = 0
    /// What was told at once, and is not known in this folder.
    private var others: Set<ItemIdentifier> = []
    /// Above it, what cannot be known in another folder waits no longer.
    private static let mostWaiting = 10_000

    init(provider: WebDAVProvider, folder: ItemIdentifier) {
        recognition = Recognition(provider: provider, folder: folder)
    }

    /// What the catalog knows when the first piece of a listing comes: what arrives in it later, this provider has put there,
    /// and knows the place of (``Places``).
    private mutating func begin() async throws(FileProviderError) -> Known {
        if let known { return known }
        let items = try await recognition.provider.catalog?.knownItems(in: recognition.folder) ?? []
        let byName = Dictionary(items.enumerated().map { ($1.filename, $0) }) { first, _ in first }
        return Known(items: items, byName: byName, isSeen: Array(repeating: false, count: items.count))
    }

    /// The next piece of the listing.
    ///
    /// - Parameter leftOut: names that are there as well.
    /// - Returns: what can be told now, of these and of those before.
    mutating func take(
        _ entries: [Listing.Entry], leftOut: [Filename]
    ) async throws(FileProviderError) -> [Identified] {
        var known = try await begin()
        // (So that there are no two copies of it.)
        self.known = nil
        defer { self.known = known }
        for name in leftOut { if let index = known.byName[name] { known.isSeen[index] = true } }
        let identifiers = recognition.identified(entries) { name in known.byName[name].map { known.items[$0] } }
        var told: [Identified] = []
        for entry in entries {
            let index = known.byName[entry.name]
            if let identifier = identifiers[entry.name] {
                if let index, known.items[index].identifier == identifier {
                    if !recognition.isChanged(entry, known.items[index]) {
                        known.isSeen[index] = true
                        told.append((entry, identifier))
                        continue
                    }
                } else if known.items.isEmpty {
                    others.insert(identifier)
                    told.append((entry, identifier))
                    continue
                }
            }
            if recognition.likeness(entry) != nil { sought += 1 }
            waiting.append(entry)
        }
        guard known.items.isEmpty, !waiting.isEmpty else { return told }
        let recognition = recognition
        // In a folder of which nothing is known nothing is missing: it may only have come from another one.
        if sought > Recognition.mostSought {
            told += try await recognition.fresh(waiting)
            waiting = []
        } else if waiting.count > Self.mostWaiting {
            told += try await recognition.fresh(waiting.filter { recognition.likeness($0) == nil })
            waiting.removeAll { recognition.likeness($0) == nil }
        }
        return told
    }

    /// The listing has ended.
    ///
    /// - Returns: all that was not told before.
    mutating func end() async throws(FileProviderError) -> [Identified] {
        guard let known, !waiting.isEmpty else { return [] }
        defer { waiting = [] }
        let unseen = known.items.indices.filter { !known.isSeen[$0] }.map { known.items[$0] }
        let identifiers = try await recognition.identify(waiting, unseen, present: others)
        return waiting.compactMap { entry in identifiers[entry.name].map { (entry, $0) } }
    }
}

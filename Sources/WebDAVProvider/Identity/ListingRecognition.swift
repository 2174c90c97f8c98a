import FileProvider

/// Finds out which items the entries of a listing are, while it arrives, on a server without identifiers.
///
/// An entry is identified at once if its name is known and it has not changed, or if nothing is known of the folder and
/// it has too many new entries to look for them elsewhere. A new or changed entry in a known folder waits for the end:
/// whether it is a renamed item shows only when the missing items are known. So this keeps the catalog's items of the
/// folder, a mark for each that was seen, and the entries that wait.
struct ListingRecognition {
    /// An entry and its identifier.
    typealias Identified = (entry: Listing.Entry, identifier: ItemIdentifier)

    private let recognition: Recognition
    private struct Known {
        var items: [KnownItem]
        /// Index into `items` by name.
        var byName: [Filename: Int]
        /// The item is in the listing, unchanged, or among the entries left out of it.
        var isSeen: [Bool]
    }
    private var known: Known?
    private var waiting: [Listing.Entry] = []
    /// The number of waiting entries so far that may be known in another folder.
    private var sought = 0
    /// Entries identified at once that are not known in this folder.
    private var others: Set<ItemIdentifier> = []
    /// With more entries waiting, those that cannot be known in another folder wait no longer.
    private static let mostWaiting = 10_000

    init(provider: WebDAVProvider, folder: ItemIdentifier) {
        recognition = Recognition(provider: provider, folder: folder)
    }

    /// The catalog's items when the first piece of a listing arrives. Items that arrive in the folder later were put
    /// there by this provider, which knows their place (``Places``).
    private mutating func begin() async throws(FileProviderError) -> Known {
        if let known { return known }
        let items = try await recognition.provider.catalog?.knownItems(in: recognition.folder) ?? []
        let byName = Dictionary(items.enumerated().map { ($1.filename, $0) }) { first, _ in first }
        return Known(items: items, byName: byName, isSeen: Array(repeating: false, count: items.count))
    }

    /// The next piece of the listing.
    ///
    /// - Parameter leftOut: further names in the listing.
    /// - Returns: the entries that can be identified now, of this piece and earlier ones.
    mutating func take(
        _ entries: [Listing.Entry], leftOut: [Filename]
    ) async throws(FileProviderError) -> [Identified] {
        var known = try await begin()
        // (Avoids a copy of the array.)
        self.known = nil
        defer { self.known = known }
        for name in leftOut { if let index = known.byName[name] { known.isSeen[index] = true } }
        let identifiers = recognition.identified(entries) { name in known.byName[name].map { known.items[$0] } }
        var identified: [Identified] = []
        for entry in entries {
            let index = known.byName[entry.name]
            if let identifier = identifiers[entry.name] {
                if let index, known.items[index].identifier == identifier {
                    if !recognition.isChanged(entry, known.items[index]) {
                        known.isSeen[index] = true
                        identified.append((entry, identifier))
                        continue
                    }
                } else if known.items.isEmpty {
                    others.insert(identifier)
                    identified.append((entry, identifier))
                    continue
                }
            }
            if recognition.likeness(entry) != nil { sought += 1 }
            waiting.append(entry)
        }
        guard known.items.isEmpty, !waiting.isEmpty else { return identified }
        let recognition = recognition
        // A folder of which nothing is known misses nothing: its items can only have come from another folder.
        if sought > Recognition.mostSought {
            identified += try await recognition.fresh(waiting)
            waiting = []
        } else if waiting.count > Self.mostWaiting {
            identified += try await recognition.fresh(waiting.filter { recognition.likeness($0) == nil })
            waiting.removeAll { recognition.likeness($0) == nil }
        }
        return identified
    }

    /// The listing has ended.
    ///
    /// - Returns: all entries that were not returned before.
    mutating func end() async throws(FileProviderError) -> [Identified] {
        guard let known, !waiting.isEmpty else { return [] }
        defer { waiting = [] }
        let unseen = known.items.indices.filter { !known.isSeen[$0] }.map { known.items[$0] }
        let identifiers = try await recognition.identify(waiting, unseen, present: others)
        return waiting.compactMap { entry in identifiers[entry.name].map { (entry, $0) } }
    }
}

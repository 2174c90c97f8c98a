import FileProvider
import Synchronization

/// Pages of folders.
///
/// A folder's names are read in one go and kept for its next pages: only then does the kernel promise that an entry
/// that stays there is seen. A page whose names are no longer kept (after a restart, or when it is requested twice)
/// begins the folder again: items may be listed twice, but none is missed.
///
/// The files are looked at one after another, so a file renamed in between may be met under both names (a save by
/// rename: first the new file, then the document that it replaced). The later lookup counts, and the earlier name is
/// looked at again: it is free by now, or another file has it.
final class Listings: Sendable {
    static let pageSize = 500
    /// The most folders that are paged through at once; the oldest is dropped.
    private static let most = 256
    /// A folder that keeps changing is read again so many times.
    private static let mostRounds = 3
    /// The most names of a folder that are looked at again.
    private static let mostRechecks = 10_000

    private struct Listing {
        let folder: ItemIdentifier
        /// Every name listed so far in this round, and those still to come.
        var names: [[UInt8]]
        var next = 0
        /// The name under which each item was last seen.
        var seen: [ItemIdentifier: [UInt8]] = [:]
        var rechecks = 0
        /// Whether a name had vanished at its turn: the file may have been renamed to a name that was not read.
        var hasLost = false
        var round = 0
    }
    private struct State {
        var kept: [UInt64: Listing] = [:]
        /// A token of an earlier run of the program must not fit.
        var lastToken = UInt64.random(in: 0...(.max / 2))
    }
    private let state = Mutex(State())

    func page(of folder: Folder, startingAt page: Page?, in store: Store) throws(FileProviderError)
        -> ItemPage
    {
        if !store.mayHoldItems(folder) { return try leftOut(of: folder, in: store) }
        var listing: Listing
        if let kept = page.flatMap(take), kept.folder == folder.identifier {
            listing = kept
        } else {
            // Sorted, so that a long listing can be taken page by page.
            let names = try names(of: folder, in: store).sorted { $0.lexicographicallyPrecedes($1) }
            listing = Listing(folder: folder.identifier, names: names)
        }
        let end = min(listing.next + Self.pageSize, listing.names.count)
        var items: [Item] = []
        for name in listing.names[listing.next..<end] {
            try add(name, in: folder, of: store, &listing, &items)
        }
        listing.next = end
        if end == listing.names.count, listing.hasLost, listing.round < Self.mostRounds {
            let known = Set(listing.names)
            listing.names += try names(of: folder, in: store).filter { !known.contains($0) }
            listing.hasLost = false
            listing.round += 1
        }
        return ItemPage(items: items, nextPage: end < listing.names.count ? keep(listing) : nil)
    }

    /// Items that lie too deep: left out, so that they do not count as deleted.
    private func leftOut(of folder: Folder, in store: Store) throws(FileProviderError) -> ItemPage {
        let names = try names(of: folder, in: store).prefix(Self.pageSize)
        let reason = "it is more than \(store.seams.deepest) names deep in the store"
        return ItemPage(items: [], leftOut: names.map { LeftOutItem(filename: Filename(bytes: $0), reason: reason) })
    }

    private func add(
        _ name: [UInt8], in folder: Folder, of store: Store, _ listing: inout Listing, _ items: inout [Item]
    ) throws(FileProviderError) {
        // The name, and the item that it had at an earlier lookup.
        var waiting: [(name: [UInt8], had: ItemIdentifier?)] = [(name, nil)]
        while let (name, had) = waiting.popLast() {
            store.seams.beforeLookup?(name)
            let entry = try store.lookUp(name, in: folder)
            // One file may have two names (a folder that is mounted twice): nothing new.
            if let had, entry?.identifier == had { continue }
            // Earlier pages have been sent; later lookups count.
            if had != nil { items.removeAll { $0.filename.bytes == name } }
            guard let entry else {
                listing.hasLost = true
                continue
            }
            items.append(entry.item)
            let earlier = listing.seen.updateValue(name, forKey: entry.identifier)
            if let earlier, earlier != name, listing.rechecks < Self.mostRechecks {
                listing.rechecks += 1
                waiting.append((earlier, entry.identifier))
            }
        }
    }

    private func names(of folder: Folder, in store: Store) throws(FileProviderError) -> [[UInt8]] {
        let names = try folder.names()
        store.sweep(folder, names)
        store.sweepThumbnails(of: folder, names)
        return names.filter { !OwnName.isOurs($0) }
    }

    private func take(_ page: Page) -> Listing? {
        guard let token = UInt64(String(decoding: page.bytes, as: UTF8.self)) else { return nil }
        return state.withLock { $0.kept.removeValue(forKey: token) }
    }

    private func keep(_ listing: Listing) -> Page {
        let token = state.withLock { state in
            state.lastToken += 1
            state.kept[state.lastToken] = listing
            if state.kept.count > Self.most, let oldest = state.kept.keys.min() { state.kept[oldest] = nil }
            return state.lastToken
        }
        return Page(bytes: String(token).utf8)
    }
}

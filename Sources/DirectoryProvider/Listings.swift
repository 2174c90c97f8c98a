import FileProvider
import Synchronization

/// Pages of folders.
///
/// A folder's names are read in one go and kept for its next pages: the kernel promises only then that
/// an entry that is there throughout is seen. A page whose names are no longer kept (a restart, a page
/// asked for twice) begins the folder again: twice told is harmless, missed is not.
///
/// The files are looked at one after another, so one that is renamed in between may be met under both its
/// names (a save by rename: first the new file, then the document that it has replaced). The later look is
/// the true one, and the earlier name is looked at once more: nobody, or another file, has it by now.
final class Listings: Sendable {
    static let pageSize = 500
    /// Folders that are being paged through at once; the oldest gives way.
    private static let most = 256
    /// A folder that changes all the time is read again so many times.
    private static let mostRounds = 3
    /// And so many names in it are looked at once more.
    private static let mostLooksAgain = 10_000

    private struct Listing {
        let folder: ItemIdentifier
        /// Every name listed so far in this run, and those still to come.
        var names: [[UInt8]]
        var next = 0
        /// Under which name each item was seen last.
        var seen: [ItemIdentifier: [UInt8]] = [:]
        var looksAgain = 0
        /// Whether a name was gone at its turn: perhaps renamed to one that the reading did not see.
        var hasLost = false
        var round = 0
    }
    private struct State {
        var kept: [UInt64: Listing] = [:]
        /// Tokens of another run of the program must not fit this one.
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
            // In order: so a long listing can be taken page by page.
            let names = try names(of: folder, in: store).sorted { $0.lexicographicallyPrecedes($1) }
            listing = Listing(folder: folder.identifier, names: names)
        }
        let end = min(listing.next + Self.pageSize, listing.names.count)
        var items: [Item] = []
        for name in listing.names[listing.next..<end] {
            try look(at: name, in: folder, of: store, &listing, &items)
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

    /// What lies too deep. It is there: nobody may take it for deleted.
    private func leftOut(of folder: Folder, in store: Store) throws(FileProviderError) -> ItemPage {
        let names = try names(of: folder, in: store).prefix(Self.pageSize)
        let reason = "it is more than \(store.seams.deepest) names deep in the store"
        return ItemPage(items: [], leftOut: names.map { LeftOutItem(filename: Filename(bytes: $0), reason: reason) })
    }

    private func look(
        at name: [UInt8], in folder: Folder, of store: Store, _ listing: inout Listing, _ items: inout [Item]
    ) throws(FileProviderError) {
        // The name, and which item it had when it was looked at before.
        var waiting: [(name: [UInt8], had: ItemIdentifier?)] = [(name, nil)]
        while let (name, had) = waiting.popLast() {
            store.seams.beforeLook?(name)
            let entry = try store.look(at: name, in: folder)
            // One file does have two names (a folder that is mounted twice): no news.
            if let had, entry?.identifier == had { continue }
            // What is on an earlier page has been told; what comes later counts.
            if had != nil { items.removeAll { $0.filename.bytes == name } }
            guard let entry else {
                listing.hasLost = true
                continue
            }
            items.append(entry.item)
            let earlier = listing.seen.updateValue(name, forKey: entry.identifier)
            if let earlier, earlier != name, listing.looksAgain < Self.mostLooksAgain {
                listing.looksAgain += 1
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

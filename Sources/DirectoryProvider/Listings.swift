import FileProvider
import Synchronization

/// Pages of folders.
///
/// A folder's names are read in one go and kept for its next pages: the kernel promises only then that
/// an entry that is there throughout is seen. A page whose names are no longer kept (a restart, a page
/// asked for twice) begins the folder again: twice told is harmless, missed is not.
final class Listings: Sendable {
    static let pageSize = 500
    /// Folders that are being paged through at once; the oldest gives way.
    private static let most = 256
    /// A folder that changes all the time is read again so many times.
    private static let mostRounds = 3

    private struct Listing {
        let folder: ItemIdentifier
        /// Every name listed so far in this run, and those still to come.
        var names: [[UInt8]]
        var next = 0
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
        var listing: Listing
        if let kept = page.flatMap(take), kept.folder == folder.identifier {
            listing = kept
        } else {
            listing = Listing(folder: folder.identifier, names: try names(of: folder, in: store))
        }
        let end = min(listing.next + Self.pageSize, listing.names.count)
        var items: [Item] = []
        for name in listing.names[listing.next..<end] {
            if let entry = try store.look(at: name, in: folder) {
                items.append(entry.item)
            } else {
                listing.hasLost = true
            }
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

    private func names(of folder: Folder, in store: Store) throws(FileProviderError) -> [[UInt8]] {
        let names = try folder.names()
        store.sweep(folder, names)
        return names.filter { TemporaryName.kind(of: $0) == nil }
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

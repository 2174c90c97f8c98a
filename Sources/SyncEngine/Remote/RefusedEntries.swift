package import FileProvider
import Locking
package import Trees

/// Listed items that cannot be shown, by folder, as of the folder's last listing since the mount. For people.
///
/// Bounded, whatever a provider says: the first few entries of each folder, and a limited number of folders.
package final class RefusedEntries: Sendable {
    package struct Entry: Sendable, Hashable {
        package var name: Filename
        package var reason: String
    }
    private struct Folder {
        var count = 0
        var first: [Entry] = []
    }
    private static let mostFolders = 1_000
    private static let mostEntries = 20
    private static let mostItems = 10_000
    private let withoutAttributes = AdaptiveMutex<Set<ItemIdentifier>>([])
    private let folders = AdaptiveMutex<[InodeID: Folder]>([:])

    /// Records the entries that a listing left out. Returns the new ones, to be logged.
    func record(_ refused: [(name: Filename, reason: String)], of folder: InodeID) -> [Entry] {
        let first = refused.prefix(Self.mostEntries).map { Entry(name: $0.name.shortened, reason: $0.reason) }
        return folders.withLock { folders in
            let before = Set(folders[folder]?.first ?? [])
            if refused.isEmpty {
                folders[folder] = nil
            } else if folders[folder] != nil || folders.count < Self.mostFolders {
                folders[folder] = Folder(count: refused.count, first: first)
            }
            return first.filter { !before.contains($0) }
        }
    }

    /// Whether it was not logged yet that the item is shown without its attributes, which are too many.
    func isNews(attributesOf item: ItemIdentifier) -> Bool {
        withoutAttributes.withLock { reported in
            if reported.count >= Self.mostItems { return false }
            return reported.insert(item).inserted
        }
    }

    /// For people; nil when everything in the folder can be shown.
    package func summary(of folder: InodeID) -> String? {
        guard let refused = folders.withLock({ $0[folder] }) else { return nil }
        let shown = refused.first.prefix(3).map { "“\($0.name)” (\($0.reason))" }
        let rest = refused.count > shown.count ? ", and \(refused.count - shown.count) more" : ""
        let number = refused.count == 1 ? "1 entry of the store" : "\(refused.count) entries of the store"
        return "\(number) cannot be shown: \(shown.joined(separator: ", "))\(rest)"
    }
}

extension Filename {
    /// A bounded form, for people, of a string that is no valid name.
    fileprivate var shortened: Filename {
        bytes.count > 300 ? Filename(bytes: bytes.prefix(300) + Array("…".utf8)) : self
    }
}

import FileProvider
import ItemCatalog
import Trees

/// The folders between what is known here and items that moved to where nobody has looked yet: with them the items are
/// moved too, with their bytes and with what was changed in them.
struct Ancestors: Sendable {
    let context: SyncContext
    /// Deeper than any path can be (PATH_MAX).
    private static let deepest = 2_048

    struct Found: Sendable {
        /// Folders that the provider was asked for.
        var folders: [Item] = []
        /// Folders to be shown, whether or not anybody has looked at the folder that they are in.
        var shown: Set<ItemIdentifier> = []
    }

    /// - Parameter items: what the provider says of items now; those that are new here are let be.
    /// - Throws: when the provider does not answer for a folder.
    func find(for items: [Item]) async throws -> Found {
        var found = Found()
        var told: [ItemIdentifier: Item] = [:]
        for item in items { told[item.identifier] = item }
        for item in items where try isKnown(item.identifier) {
            var next = item.parentIdentifier
            var steps = 0
            while try !isKnown(next), steps < Self.deepest {
                steps += 1
                let folder: Item
                if let known = told[next] {
                    folder = known
                } else {
                    guard let answer = try await ask(next) else { break }
                    found.folders.append(answer)
                    told[next] = answer
                    folder = answer
                }
                found.shown.insert(next)
                next = folder.parentIdentifier
            }
        }
        return found
    }

    private func isKnown(_ identifier: ItemIdentifier) throws -> Bool {
        try context.catalog.read { try $0.item(identifiedBy: identifier) } != nil
    }

    /// Nil when it is gone, or not what was asked for: then the item is asked for again.
    private func ask(_ identifier: ItemIdentifier) async throws -> Item? {
        do {
            let item = try await context.client.placeholder(for: identifier, at: nil)
            return item.identifier == identifier && item.kind.isFolder ? item : nil
        } catch {
            if error.code == .noSuchItem { return nil }
            throw error
        }
    }
}

import FileProvider
import ItemCatalog
import Trees

/// The folders between the known tree and items that moved into folders not listed yet. With these folders known, the
/// items are moved too, with their bytes and local changes.
struct Ancestors: Sendable {
    let mount: MountState
    let client: StoreClient
    /// No path is deeper (PATH_MAX).
    private static let deepest = 2_048

    struct Found: Sendable {
        /// Folders that the provider was asked for.
        var folders: [Item] = []
        /// Folders to show, whether or not their parent folder has been listed.
        var shown: Set<ItemIdentifier> = []
    }

    /// - Parameter items: the provider's present answers for items; those that are new here are ignored.
    /// - Throws: when the provider does not answer for a folder.
    func find(for items: [Item]) async throws -> Found {
        var found = Found()
        var answers: [ItemIdentifier: Item] = [:]
        for item in items { answers[item.identifier] = item }
        for item in items where try isKnown(item.identifier) {
            var next = item.parentIdentifier
            var steps = 0
            while try !isKnown(next), steps < Self.deepest {
                steps += 1
                let folder: Item
                if let known = answers[next] {
                    folder = known
                } else {
                    guard let answer = try await ask(next) else { break }
                    found.folders.append(answer)
                    answers[next] = answer
                    folder = answer
                }
                found.shown.insert(next)
                next = folder.parentIdentifier
            }
        }
        return found
    }

    private func isKnown(_ identifier: ItemIdentifier) throws -> Bool {
        try mount.catalog.read { try $0.item(identifiedBy: identifier) } != nil
    }

    /// Nil when the folder is gone, or the answer is for something else: then the item is asked for again.
    private func ask(_ identifier: ItemIdentifier) async throws -> Item? {
        do {
            let item = try await client.placeholder(for: identifier, at: nil)
            return item.identifier == identifier && item.kind.isFolder ? item : nil
        } catch {
            if error.code == .noSuchItem { return nil }
            throw error
        }
    }
}

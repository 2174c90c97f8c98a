import FileProvider
import ItemCatalog
import Logging
import Trees

/// Items whose creation got no reply, and that were moved or deleted here since.
extension StepRunner {
    /// Looks whether the store made the item. If so, the store's item is ours, and the local move or deletion is sent
    /// next.
    func findCreation(_ item: ItemRecord) async throws {
        guard let place = item.attempted else { return }
        let made = try await findCreatedItem(item, at: place)
        mount.logger.debug(
            made == nil ? "the store did not create the item" : "the store had created the item",
            metadata: ["item": "\(mount.path(of: item))", "asked for": "\(place.name)"])
        try mount.catalog.write { writer in
            if let made {
                let isOurs = try writer.confirmCreation(
                    item.id, as: made, contentRevision: -1, metadataRevision: -1, sent: place,
                    defaults: mount.defaults)
                if isOurs { return }
            }
            try writer.forgetAttempt(item.id, at: place, defaults: mount.defaults)
        }
    }

    private func findCreatedItem(_ item: ItemRecord, at place: TreePlace) async throws -> Item? {
        guard let folder = try mount.catalog.read({ try $0.item(place.parent)?.identifier }) else { return nil }
        do {
            let there = try await listing.pages(of: folder).first {
                $0.filename == place.name
            }
            guard var there, try await isOurs(there, item) else { return nil }
            there.parentIdentifier = folder
            return there
        } catch let error as FileProviderError {
            if error.code == .noSuchItem { return nil }
            throw error
        }
    }

    /// Whether the store's item is the one requested, as far as can be seen. (A folder must be empty.)
    private func isOurs(_ there: Item, _ item: ItemRecord) async throws -> Bool {
        switch (item.kind, there.kind) {
        case (.document, .document):
            return try await comparison.matches(
                there, anyOf: item.sent)
        case (.folder, .folder):
            return try await listing.pages(of: there.identifier)
                .isEmpty
        case (.symbolicLink(let mine), .symbolicLink(let theirs)): return mine == theirs
        default: return false
        }
    }
}

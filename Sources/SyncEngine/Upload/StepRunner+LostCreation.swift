import FileProvider
import ItemCatalog
import Logging
import Trees

/// What the store was asked to make, without a reply, and what was moved or deleted here since.
extension StepRunner {
    /// Looks whether the store made it. If so, it is the item's from now on, and what was done here follows: the move, or
    /// the deletion.
    func findCreation(_ item: ItemRecord) async throws {
        guard let place = item.attempted else { return }
        let made = try await lookForCreation(item, at: place)
        context.logger.debug(
            made == nil ? "the store did not make it" : "the store had made it",
            metadata: ["item": "\(context.path(of: item))", "asked for": "\(place.name)"])
        try context.catalog.write { writer in
            if let made {
                let isOurs = try writer.confirmCreation(
                    item.id, as: made, contentRevision: -1, metadataRevision: -1, sent: place,
                    defaults: context.defaults)
                if isOurs { return }
            }
            try writer.forgetAttempt(item.id, at: place, defaults: context.defaults)
        }
    }

    private func lookForCreation(_ item: ItemRecord, at place: TreePlace) async throws -> Item? {
        guard let folder = try context.catalog.read({ try $0.item(place.parent)?.identifier }) else { return nil }
        do {
            let there = try await FolderListing(context: context).pages(of: folder).first { $0.filename == place.name }
            guard var there, try await isOurs(there, item) else { return nil }
            there.parentIdentifier = folder
            return there
        } catch let error as FileProviderError {
            if error.code == .noSuchItem { return nil }
            throw error
        }
    }

    /// Whether it is what was asked for, as far as one can see. (Of a folder: nobody has put anything into it.)
    private func isOurs(_ there: Item, _ item: ItemRecord) async throws -> Bool {
        switch (item.kind, there.kind) {
        case (.document, .document):
            return try await RemoteComparison(context: context).matches(there, anyOf: item.sent)
        case (.folder, .folder): return try await FolderListing(context: context).pages(of: there.identifier).isEmpty
        case (.symbolicLink(let mine), .symbolicLink(let theirs)): return mine == theirs
        default: return false
        }
    }
}

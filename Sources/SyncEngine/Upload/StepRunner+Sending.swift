import ContentStore
import FileProvider
import Logging
import Trees

/// Uploads, counted and no faster than the limit.
extension StepRunner {
    func create(
        _ item: ItemRecord, _ template: ItemTemplate, _ source: SnapshotSource?
    ) async throws(FileProviderError) -> Item {
        let path = mount.path(of: item)
        guard let source else { return try await client.createItem(template, contents: nil, at: path) }
        return try await sending(item, source) { source async throws(FileProviderError) in
            try await client.createItem(template, contents: source, at: path)
        }
    }

    /// Lists the upload among the running transfers during `call`.
    func sending(
        _ item: ItemRecord, _ source: SnapshotSource,
        _ call: (any ContentSource) async throws(FileProviderError) -> Item
    ) async throws(FileProviderError) -> Item {
        let transfers = transfers
        let transfer = transfers.begin(
            .upload, path: mount.path(of: item), identifier: item.identifier, total: source.size)
        defer { transfers.end(transfer) }
        let result: Result<Item, FileProviderError>
        do {
            result = .success(
                try await call(MeteredSource(base: source, transfer: transfer, limit: transfers.uploadLimit)))
        } catch { result = .failure(error) }
        // Whatever the provider replied: the bytes it got are of no one moment.
        if source.snapshot.hasChanged {
            mount.logger.info(
                "a document was changed while it was sent: its upload begins again",
                metadata: ["item": "\(mount.path(of: item))"])
            throw FileProviderError(.cancelled, "\(mount.path(of: item)): changed while it was sent")
        }
        return try result.get()
    }
}

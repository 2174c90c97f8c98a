import FileProvider
import Hashing
import Trees

/// Whether the provider's document is what we sent: then a mismatch is a lost reply and no conflict.
struct RemoteComparison {
    let mount: MountState
    let client: StoreClient
    let transfers: Transfers

    func matches(_ item: Item, _ sent: SentContent) async throws(FileProviderError) -> Bool {
        try await matches(item, anyOf: [sent])
    }

    func matches(_ item: Item, anyOf all: [SentContent]) async throws(FileProviderError) -> Bool {
        let candidates = all.filter { $0.size == item.size }
        guard item.kind.isDocument, !candidates.isEmpty else { return false }
        let sink = HashingSink()
        if item.size > 0 {
            let path = mount.path(of: item.identifier) ?? item.filename.string
            let transfer = transfers.begin(
                .download, path: path, identifier: item.identifier, total: item.size)
            defer { transfers.end(transfer) }
            let limited = LimitedSink(base: sink, transfer: transfer, limit: transfers.downloadLimit)
            try await client.provide(
                item.identifier, version: item.version.content, range: 0..<item.size, into: limited, at: path,
                forget: nil
            ) { $0 == nil ? item.size : nil }
        }
        let digest = sink.digest(size: item.size)
        return candidates.contains { $0.hash == digest }
    }
}

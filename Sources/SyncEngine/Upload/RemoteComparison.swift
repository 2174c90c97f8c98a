import Crypto
import FileProvider
import Locking
import Trees

/// Whether the provider's document is what we sent: then a mismatch is no conflict but a lost reply.
struct RemoteComparison {
    let context: SyncContext

    func matches(_ item: Item, _ sent: SentContent) async throws(FileProviderError) -> Bool {
        try await matches(item, anyOf: [sent])
    }

    func matches(_ item: Item, anyOf all: [SentContent]) async throws(FileProviderError) -> Bool {
        let candidates = all.filter { $0.size == item.size }
        guard item.kind.isDocument, !candidates.isEmpty else { return false }
        let sink = HashingSink()
        if item.size > 0 {
            let path = context.path(of: item.identifier) ?? item.filename.string
            let transfer = context.transfers.begin(
                .download, path: path, identifier: item.identifier, total: item.size)
            defer { context.transfers.end(transfer) }
            let limited = LimitedSink(base: sink, transfer: transfer, limit: context.transfers.downloadLimit)
            try await context.client.provide(
                item.identifier, version: item.version.content, range: 0..<item.size, into: limited, at: path
            ) { $0 == nil ? item.size : nil }
        }
        let digest = sink.digest(size: item.size)
        return candidates.contains { $0.hash == digest }
    }
}

/// Hashes a download that comes in order; anything else counts as different.
private final class HashingSink: ContentSink {
    private let state = AdaptiveMutex((hasher: SHA256(), next: Int64(0)))

    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        state.withLock { state in
            guard state.next == offset else {
                state.next = -1
                return
            }
            state.hasher.update(data: bytes)
            state.next += Int64(bytes.count)
        }
    }

    func digest(size: Int64) -> [UInt8]? {
        state.withLock { $0.next == size ? Array($0.hasher.finalize()) : nil }
    }
}

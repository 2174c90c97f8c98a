import Crypto
import FileProvider
import ItemCatalog
import Synchronization

/// Whether the provider's document is what we sent: then a mismatch is no conflict but a lost reply.
struct RemoteComparison {
    let provider: any FileProviderExtension

    func matches(_ item: Item, _ sent: SentContent) async throws(FileProviderError) -> Bool {
        guard item.kind.isDocument, item.size == sent.size else { return false }
        let sink = HashingSink()
        if item.size > 0 {
            try await provider.startProvidingItem(
                item.identifier, version: item.version.content, range: 0..<item.size, into: sink)
        }
        return sink.digest(size: item.size) == sent.hash
    }
}

/// Hashes a download that comes in order; anything else counts as different.
private final class HashingSink: ContentSink {
    private let state = Mutex((hasher: SHA256(), next: Int64(0)))

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

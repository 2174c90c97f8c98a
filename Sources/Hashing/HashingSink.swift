package import FileProvider
import Synchronization

/// Computes the SHA-256 of a download. Bytes that come out of order count as different contents.
package final class HashingSink: ContentSink {
    private let state = Mutex((hasher: SHA256(), next: Int64(0)))

    package init() {}

    package func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        state.withLock { state in
            guard state.next == offset else {
                state.next = -1
                return
            }
            state.hasher.update(data: bytes)
            state.next += Int64(bytes.count)
        }
    }

    /// Nil: the bytes did not come in order.
    package func digest(size: Int64) -> [UInt8]? {
        state.withLock { $0.next == size ? Array($0.hasher.finalize()) : nil }
    }
}

import FileProvider

/// Contents that end before the size they announce.
struct ShortSource: ContentSource {
    let size: Int64
    /// The bytes that are really there.
    let bytes: [UInt8]

    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        try await BytesSource(bytes).read(at: offset, upTo: count)
    }
}

/// Contents that cannot be read to their end: the local disk fails in mid-upload.
struct FailingSource: ContentSource {
    let size: Int64
    /// The offset from which on reading fails.
    let failsAt: Int64

    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        guard offset < failsAt else {
            throw FileProviderError(.cannotSynchronize, "the contents cannot be read")
        }
        return [UInt8](repeating: 0x2e, count: min(count, Int(failsAt - offset)))
    }
}

/// Takes no bytes: waits until the task is cancelled, or refuses at once.
struct RefusingSink: ContentSink {
    /// The time until it refuses, unless the task is cancelled before.
    var patience = Duration.zero
    /// Opened when the first bytes have arrived.
    var reached = Gate()

    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        reached.open()
        try? await Task.sleep(for: patience)
        throw FileProviderError(.cancelled, "the download was cancelled")
    }
}

/// Where a provider puts the bytes of a download, as they arrive.
///
/// Ranges may come in any order and in pieces of any size; a program that waits for a byte goes on as
/// soon as the piece with that byte has been taken. Bytes outside the range that was asked for are
/// refused with an error, so a store that sends too much cannot harm anything.
public protocol ContentSink: Sendable {
    /// Takes `bytes` as the item's contents from `offset` (in bytes) on. Returns when they are in the
    /// local file (not yet on disk for good) and more may be sent, so waiting here is the back pressure.
    ///
    /// Throws ``FileProviderError/Code/cancelled`` when nobody wants the bytes any more; pass it on.
    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError)
}

/// The contents to upload: a snapshot that does not change while the provider reads it.
public protocol ContentSource: Sendable {
    /// In bytes.
    var size: Int64 { get }

    /// Up to `count` bytes from `offset` on; fewer only at the end, none past it.
    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8]

    /// The same of bytes that do not leave this machine: for a checksum, say. It counts neither as sent nor towards a limit
    /// (`hydrant limit --upload`). Default: as ``read(at:upTo:)``.
    func readLocally(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8]
}

extension ContentSource {
    /// As ``read(at:upTo:)``.
    public func readLocally(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        try await read(at: offset, upTo: count)
    }
}

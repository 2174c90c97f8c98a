/// Takes the bytes of a download from the provider, as they arrive.
///
/// Ranges may come in any order and in pieces of any size; a program that waits for a byte goes on as soon as the piece
/// with that byte is written, and with the last piece of the range when the hook has returned. Bytes outside the
/// requested range are refused with an error.
public protocol ContentSink: Sendable {
    /// Writes `bytes` into the item's contents from `offset` (in bytes) on. Returns when they are in the local file
    /// (not yet synced to disk) and more may be sent: waiting for the return is the back pressure.
    ///
    /// Throws ``FileProviderError/Code/cancelled`` when nobody waits for the bytes any more; pass the error on.
    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError)
}

/// The contents to upload: a snapshot that does not change while the provider reads it.
public protocol ContentSource: Sendable {
    /// In bytes.
    var size: Int64 { get }

    /// Up to `count` bytes from `offset` on; fewer only at the end, none beyond it. The last byte of a large document
    /// may come later than the others, when its copy for the upload is complete. Throws
    /// ``FileProviderError/Code/cancelled`` when a program changes the document before that; pass the error on.
    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8]

    /// As ``read(at:upTo:)``, for bytes that do not leave this machine: for a checksum, say. The bytes count neither as
    /// sent nor towards a limit (`hydrant limit --upload`). Default: calls ``read(at:upTo:)``.
    func readLocally(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8]
}

extension ContentSource {
    /// Calls ``read(at:upTo:)``.
    public func readLocally(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        try await read(at: offset, upTo: count)
    }
}

import FileProvider

extension ContentSource {
    /// All bytes, read in pieces of `pieceSize` bytes.
    ///
    /// Throws ``FileProviderError/Code/cannotSynchronize`` when the source ends before its size, and
    /// ``FileProviderError/Code/cancelled`` when the task is cancelled.
    func readAll(pieceSize: Int) async throws(FileProviderError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(size))
        while Int64(bytes.count) < size {
            if Task.isCancelled { throw FileProviderError(.cancelled, "the upload was cancelled") }
            let wanted = min(pieceSize, Int(size) - bytes.count)
            let piece = try await read(at: Int64(bytes.count), upTo: wanted)
            guard !piece.isEmpty, piece.count <= wanted else {
                throw FileProviderError(
                    .cannotSynchronize,
                    "the contents gave \(piece.count) bytes at \(bytes.count), not \(wanted)")
            }
            bytes += piece
        }
        return bytes
    }
}

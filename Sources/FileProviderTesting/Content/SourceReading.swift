import FileProvider

extension ContentSource {
    /// All of it, read in pieces of `pieceSize` bytes.
    ///
    /// Throws ``FileProviderError/Code/cannotSynchronize`` when the source ends before its size, and
    /// ``FileProviderError/Code/cancelled`` when the task is.
    func readAll(pieceSize: Int) async throws(FileProviderError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(size))
        while Int64(bytes.count) < size {
            if Task.isCancelled { throw FileProviderError(.cancelled, "The upload was cancelled.") }
            let wanted = min(pieceSize, Int(size) - bytes.count)
            let piece = try await read(at: Int64(bytes.count), upTo: wanted)
            guard !piece.isEmpty, piece.count <= wanted else {
                throw FileProviderError(
                    .cannotSynchronize,
                    "The contents gave \(piece.count) bytes at \(bytes.count) where \(wanted) were due.")
            }
            bytes += piece
        }
        return bytes
    }
}

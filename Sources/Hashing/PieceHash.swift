package import FileProvider

extension HashFunction {
    /// Hashes the first `count` bytes of a source that is read piece by piece.
    ///
    /// - Parameter read: gets the offset of the next piece, in bytes, and its largest size.
    /// - Returns: nil: the source ended early, with an empty piece.
    package static func hash<Failure: Error>(
        first count: Int64, _ read: (Int64, Int) throws(Failure) -> [UInt8]
    ) throws(Failure) -> Digest? {
        var hash = Self()
        var offset: Int64 = 0
        while offset < count {
            let bytes = try read(offset, Int(min(1 << 20, count - offset)))
            if bytes.isEmpty { return nil }
            hash.update(data: bytes)
            offset += Int64(bytes.count)
        }
        return hash.finalize()
    }
}

extension ContentSource {
    /// Hashes the contents to be sent.
    package func digest<Hash: HashFunction>(
        _: Hash.Type, first count: Int64
    ) async throws(FileProviderError) -> Digest? {
        var hash = Hash()
        var offset: Int64 = 0
        while offset < count {
            let bytes = try await readLocally(at: offset, upTo: Int(min(256 << 10, count - offset)))
            if bytes.isEmpty { return nil }
            hash.update(data: bytes)
            offset += Int64(bytes.count)
        }
        return hash.finalize()
    }
}

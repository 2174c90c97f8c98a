public import FileProvider

/// Contents to upload, in memory.
public struct BytesSource: ContentSource {
    /// All bytes.
    public let bytes: [UInt8]
    public var size: Int64 { Int64(bytes.count) }

    /// Contents of these bytes.
    public init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    /// The UTF-8 of a text.
    public init(_ text: String) { self.bytes = Array(text.utf8) }

    public func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        guard offset < size else { return [] }
        let start = Int(offset)
        return Array(bytes[start..<min(bytes.count, start + count)])
    }
}

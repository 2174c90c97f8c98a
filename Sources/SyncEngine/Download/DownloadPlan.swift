/// Chooses the ranges to ask for: a pure function of the missing, requested and running ranges.
struct DownloadPlan {
    /// A reader at most this far (bytes) ahead of a stream waits for it; a reader further ahead gets its own stream.
    static let window: Int64 = 4 << 20
    static let mostStreams = 4

    struct Stream: Equatable {
        /// The offset of the stream's next byte.
        var position: Int64
        var end: Int64
    }

    /// Whether a stream will bring the byte at `offset` soon.
    static func covers(_ streams: [Stream], _ offset: Int64) -> Bool {
        streams.contains { $0.position <= offset && offset < $0.end && offset - $0.position <= window }
    }

    /// The stream to start for a reader whose first missing byte is at `offset`: up to the end of the gap, or to
    /// another stream's position.
    static func stream(from offset: Int64, gaps: [Range<Int64>], streams: [Stream]) -> Range<Int64>? {
        guard let gap = gaps.first(where: { $0.contains(offset) }) else { return nil }
        let next = streams.map(\.position).filter { $0 > offset }.min() ?? .max
        return offset..<min(gap.upperBound, next)
    }

    /// The next range when nobody waits but the document is still open: the gap after the last byte that came, or else
    /// the first gap.
    static func following(_ last: Int64, gaps: [Range<Int64>]) -> Range<Int64>? {
        gaps.first { $0.upperBound > last } ?? gaps.first
    }
}

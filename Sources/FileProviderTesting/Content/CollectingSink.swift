public import FileProvider
import Synchronization

/// Collects the bytes of a download in memory, and refuses bytes outside the range as Hydrant does.
public final class CollectingSink: ContentSink {
    /// One call of ``write(_:at:)``.
    public struct Write: Hashable, Sendable {
        /// In bytes from the start of the document.
        public var offset: Int64
        /// In bytes.
        public var count: Int

        /// A call that wrote `count` bytes at `offset`.
        public init(offset: Int64, count: Int) {
            self.offset = offset
            self.count = count
        }
    }

    private struct State {
        var bytes: [UInt8]
        var covered = RangeSet<Int>()
        var writes: [Write] = []
        var hasSurplus = false

        var receivedCount: Int { covered.ranges.reduce(0) { $0 + $1.count } }
    }

    /// The requested range, in bytes from the start of the document.
    public let range: Range<Int64>
    private let state: Mutex<State>

    /// An empty sink for a download of `range`.
    public init(range: Range<Int64>) {
        self.range = range
        state = Mutex(State(bytes: [UInt8](repeating: 0, count: range.count)))
    }

    /// The bytes of the range, or nil while some of them are missing.
    public var bytes: [UInt8]? {
        state.withLock { $0.receivedCount == $0.bytes.count ? $0.bytes : nil }
    }

    /// How many different bytes of the range have arrived.
    public var receivedCount: Int { state.withLock { $0.receivedCount } }

    /// All writes, in order, also the refused ones.
    public var writes: [Write] { state.withLock { $0.writes } }

    /// Whether bytes outside the range were written (and refused).
    public var hasSurplus: Bool { state.withLock { $0.hasSurplus } }

    /// Throws `FileProviderError.Code.cannotSynchronize` for bytes outside the range, and takes none of them.
    public func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        let range = range
        let fits = state.withLock { state in
            state.writes.append(Write(offset: offset, count: bytes.count))
            guard offset >= range.lowerBound, offset <= range.upperBound,
                Int64(bytes.count) <= range.upperBound - offset
            else {
                state.hasSurplus = true
                return false
            }
            let start = Int(offset - range.lowerBound)
            state.bytes.withUnsafeMutableBytes { target in
                bytes.withUnsafeBytes { target[start..<start + bytes.count].copyBytes(from: $0) }
            }
            state.covered.insert(contentsOf: start..<start + bytes.count)
            return true
        }
        guard fits else {
            throw FileProviderError(
                .cannotSynchronize,
                "\(bytes.count) bytes at \(offset) are outside the requested range \(range)")
        }
    }
}

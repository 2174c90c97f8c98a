package import FileProvider
import Locking

/// Passes on the bytes of one transfer that must be whole, in order, and of a known size.
final class WholeSink: ContentSink {
    private let base: any ContentSink
    private let size: Int64
    private let end = AdaptiveMutex<Int64>(0)

    init(_ base: any ContentSink, size: Int64) {
        self.base = base
        self.size = size
    }

    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        let isNext = end.withLock { $0 == offset } && Int64(bytes.count) <= size - offset
        guard isNext else {
            throw FileProviderError(
                .cannotSynchronize,
                "the provider sends byte \(offset) of \(size) out of order or too many; report it to its author")
        }
        try await base.write(bytes, at: offset)
        end.withLock { $0 = offset + Int64(bytes.count) }
    }

    /// - Throws: when bytes are missing.
    func finish() throws(FileProviderError) {
        let reached = end.withLock { $0 }
        guard reached == size else {
            throw FileProviderError(.cannotSynchronize, "only \(reached) of \(size) bytes have come; try again")
        }
    }
}

extension DocumentVersion {
    private static let longestText = 1_024

    /// Whether people and programs may see it.
    var isPossible: Bool {
        size >= 0 && (1...Self.longestIdentifier).contains(identifier.utf8.count)
            && (author?.utf8.count ?? 0) <= Self.longestText && (label?.utf8.count ?? 0) <= Self.longestText
    }
}

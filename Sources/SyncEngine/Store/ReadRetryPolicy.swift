import FileProvider
import Locking

/// When to retry a read of bytes that are not here: the one policy, for all stores. A provider reports each failure at
/// once, and HTTP sends a read once (it replaces a kept connection that the server has closed).
///
/// | the store | is asked again | in all |
/// |---|---|---|
/// | refuses or drops the connection (``FileProviderError/isTransient``) | after 0.1, 0.2, 0.4, 0.8, 1, 1 … s; not while it is known to be away | 10 s |
/// | breaks off, fails, is busy | after 0.3 s each | 4 times, some 1 s |
/// | fails in any other way | never | |
///
/// A retry begins behind the bytes that have come; after a read that failed with all of them, at the beginning. Each byte
/// resets the count and the time, so that a line that breaks all the time still brings the document. The program waits
/// meanwhile, within its own limit (`SyncTimes`).
package struct ReadRetryPolicy: Sendable {
    /// In seconds: the time a server takes to restart.
    package var patience = 10.0
    package var firstPause = 0.1
    package var longestPause = 1.0
    /// For other failures: the attempts in a row, and the seconds between them.
    package var attempts = 4
    package var pause = 0.3

    package init() {}

    /// The failures in a row, without a byte in between.
    struct Failures {
        fileprivate var transient = 0
        fileprivate var other = 0
        fileprivate var began: ContinuousClock.Instant?
    }

    /// - Returns: seconds until the retry; nil: the read has failed for good.
    func pause(
        after error: FileProviderError, _ failures: inout Failures, isAway: Bool, at now: ContinuousClock.Instant
    ) -> Double? {
        if error.isTransient {
            let began = failures.began ?? now
            let pause = min(firstPause * Double(1 << min(failures.transient, 20)), longestPause)
            failures.began = began
            failures.transient += 1
            return !isAway && began.duration(to: now) / .seconds(1) + pause < patience ? pause : nil
        }
        guard error.code == .cannotSynchronize || error.code == .busy else { return nil }
        failures.other += 1
        return failures.other < attempts ? pause : nil
    }
}

/// Passes the bytes of a range on and records how far they have come without a gap. Keeps the last piece until
/// ``finish()``.
final class ProgressSink: ContentSink {
    private struct State {
        var reached: Int64
        var last: (bytes: [UInt8], offset: Int64)?

        mutating func note(_ count: Int, at offset: Int64) {
            if offset <= reached { reached = max(reached, offset + Int64(count)) }
        }
    }
    private let base: any ContentSink
    private let range: Range<Int64>
    private let state: AdaptiveMutex<State>

    init(_ base: any ContentSink, _ range: Range<Int64>) {
        self.base = base
        self.range = range
        state = AdaptiveMutex(State(reached: range.lowerBound))
    }

    /// The end of the bytes that were passed on.
    var reached: Int64 { state.withLock { $0.reached } }

    /// Whether all bytes have come.
    var isWhole: Bool { state.withLock { state in state.last.map { $0.offset <= state.reached } ?? false } }

    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        if offset >= range.lowerBound, !bytes.isEmpty, Int64(bytes.count) == range.upperBound - offset {
            return state.withLock { $0.last = (bytes, offset) }
        }
        try await base.write(bytes, at: offset)
        state.withLock { $0.note(bytes.count, at: offset) }
    }

    /// Passes the last piece on.
    func finish() async throws(FileProviderError) {
        guard let last = state.withLock({ $0.last.take() }) else { return }
        try await base.write(last.bytes, at: last.offset)
        state.withLock { $0.note(last.bytes.count, at: last.offset) }
    }

    /// The last piece does not count.
    func dropLast() { state.withLock { $0.last = nil } }

    /// Nothing counts.
    func restart() { state.withLock { $0 = State(reached: range.lowerBound) } }
}

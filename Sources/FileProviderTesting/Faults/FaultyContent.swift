import FileProvider
import Synchronization

/// Passes bytes on at the plan's speed, up to a limit.
final class FaultySink: ContentSink {
    private let base: any ContentSink
    private let plan: FaultPlan
    private let remaining: Mutex<Int64>

    /// Thrown into the provider to stop it; ``FaultInjectingProvider`` replaces it by the fault's end.
    private static let stop = FileProviderError(.cancelled, "a test has truncated the download")

    /// - Parameter limit: the number of bytes that come through; nil: all.
    init(_ base: any ContentSink, _ plan: FaultPlan, limit: Int64? = nil) {
        self.base = base
        self.plan = plan
        remaining = Mutex(limit ?? .max)
    }

    /// Whether bytes were held back.
    var wasTruncated: Bool { remaining.withLock { $0 < 0 } }

    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        let count = remaining.withLock { remaining in
            let count = min(Int64(bytes.count), max(remaining, 0))
            // Negative once bytes were held back.
            remaining = Int64(bytes.count) > count ? -1 : remaining - count
            return Int(count)
        }
        if count > 0 {
            try await plan.transfer(count)
            try await base.write(count == bytes.count ? bytes : Array(bytes.prefix(count)), at: offset)
        }
        if count < bytes.count { throw Self.stop }
    }
}

/// Writes everything twice, like a server that sends a part again.
struct RepeatingSink: ContentSink {
    let base: any ContentSink

    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        try await base.write(bytes, at: offset)
        try await base.write(bytes, at: offset)
    }
}

/// Reads contents at the plan's speed, up to a limit.
final class FaultySource: ContentSource {
    private let base: any ContentSource
    private let plan: FaultPlan
    private let limit: Int64
    private let cut = Mutex(false)
    var size: Int64 { base.size }

    /// - Parameter limit: the number of bytes from the start that can be read before the connection breaks.
    init(_ base: any ContentSource, _ plan: FaultPlan, limit: Int64 = .max) {
        self.base = base
        self.plan = plan
        self.limit = limit
    }

    /// Whether bytes beyond the limit were requested.
    var wasCut: Bool { cut.withLock { $0 } }

    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        guard offset < limit else {
            cut.withLock { $0 = true }
            throw FileProviderError(.serverUnreachable, "a test has broken the connection")
        }
        let bytes = try await base.read(at: offset, upTo: Int(min(Int64(count), limit - offset)))
        try await plan.transfer(bytes.count)
        return bytes
    }
}

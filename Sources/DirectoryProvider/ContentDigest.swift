import Glibc
import Hashing

/// Half of a SHA-256: distinguishes contents of a document with the same size, date and file.
struct ContentDigest: Hashable, Sendable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    /// In bytes. A listing waits while documents of which only the change time has changed are compared; a larger
    /// document counts as changed at once.
    static let largest: Int64 = 64 << 20

    fileprivate init(_ hash: Digest) {
        (high, low) = hash.withUnsafeBytes {
            (
                UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    /// As ``description``.
    init?(_ text: some StringProtocol) {
        guard text.utf8.count == 32, text.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }),
            let high = UInt64(text.prefix(16), radix: 16), let low = UInt64(text.suffix(16), radix: 16)
        else { return nil }
        (self.high, self.low) = (high, low)
    }

    var description: String {
        [high, low].map { number in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}

/// Hashes the bytes of one document, from the first to the last.
struct ContentHasher {
    private var hash = SHA256()
    private var taken: Int64 = 0
    private let size: Int64

    /// Nil for a document that is too large to compare.
    init?(size: Int64) {
        guard size > 0, size <= ContentDigest.largest else { return nil }
        self.size = size
    }

    mutating func take(_ bytes: [UInt8]) {
        hash.update(data: bytes)
        taken += Int64(bytes.count)
    }

    /// Nil: not all bytes have arrived.
    var digest: ContentDigest? { taken == size ? ContentDigest(hash.finalize()) : nil }
}

/// The result of comparing a document with a digest.
enum Comparison { case same, different, changedMeanwhile }

extension Entry {
    private static let piece = 1 << 20
    /// In nanoseconds; the coarsest clock with which Linux dates changes ticks a hundred times a second.
    private static let tick: Int64 = 20_000_000

    /// Reads the document, to its end unless it changes meanwhile. A document that cannot be read counts as different.
    func compare(with digest: ContentDigest) -> Comparison {
        guard var hasher = ContentHasher(size: status.size),
            let file = try? folder.open(name, O_RDONLY), let first = try? file.status()
        else { return .different }
        guard isStill(first) else { return .changedMeanwhile }
        waitForTick()
        var offset: Int64 = 0
        while offset < status.size {
            let count = min(Self.piece, Int(status.size - offset))
            guard let bytes = try? file.read(at: offset, upTo: count) else { return .different }
            guard bytes.count == count, let now = try? file.status(), isStill(now) else { return .changedMeanwhile }
            hasher.take(bytes)
            offset += Int64(count)
        }
        return hasher.digest == digest ? .same : .different
    }

    /// Whether this is the file that was looked at, unchanged since, and not renamed either.
    private func isStill(_ now: FileStatus) -> Bool {
        now.isUnchanged(since: status, usesInodes: true) && now.changed == status.changed
    }

    /// Ensures that a later write gives the file another change time.
    private func waitForTick() {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let (seconds, overflow) = Int64(now.tv_sec).subtractingReportingOverflow(status.changed.seconds)
        // (A date far away, or in the future after the clock was set back: waiting would not help.)
        guard !overflow, (-1...1).contains(seconds) else { return }
        let age = seconds * 1_000_000_000 + Int64(now.tv_nsec) - Int64(status.changed.nanoseconds)
        if (0..<Self.tick).contains(age) { usleep(UInt32((Self.tick - age) / 1000 + 1)) }
    }
}

import ContentStore
import FileProvider
import Glibc
import Locking

/// The needs of a download, in bytes.
struct Need: Sendable {
    /// Bytes about to be written.
    var room: Int64 = 0
    /// Bytes to evict at least.
    var eviction: Int64 = 0
}

/// The room on the disk for downloads and for copies that uploads read.
package final class DiskRoom: Sendable {
    private struct State {
        /// Evicts until there is room for the need; returns the number of bytes evicted.
        var makeRoom: (@Sendable (Need) async -> Int64)?
        var grown: (@Sendable () -> Void)?
        /// When waiting for room last failed: not tried again at every piece of a download.
        var inVain: ContinuousClock.Instant?
        var mayTry: Bool { inVain.map { $0.duration(to: .now) > .seconds(5) } ?? true }
        /// Bytes that all callers together are writing now.
        var underWay: Int64 = 0
    }
    private let state = AdaptiveMutex(State())
    private let store: ContentStore
    package let limits: CacheLimits

    init(store: ContentStore, limits: CacheLimits) {
        self.store = store
        self.limits = limits
    }

    /// How much disk space is set aside for the catalog.
    var reserve: Int64 {
        guard let statistics = try? store.diskStatistics() else { return 0 }
        return min(4 << 20, DiskNumbers.bytes(UInt64(statistics.f_blocks), of: UInt64(statistics.f_frsize)) / 16)
    }

    /// Set once, before the first download.
    func attach(makeRoom: @escaping @Sendable (Need) async -> Int64, grown: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.makeRoom = makeRoom
            state.grown = grown
        }
    }

    /// Free bytes (for this user), and how many of them must stay free; nil when the disk does not say.
    package func free() -> (free: Int64, minimum: Int64)? {
        guard let statistics = try? store.diskStatistics() else { return nil }
        let unit = UInt64(statistics.f_frsize)
        return (
            DiskNumbers.bytes(UInt64(statistics.f_bavail), of: unit),
            limits.minimumFree.bytes(of: DiskNumbers.bytes(UInt64(statistics.f_blocks), of: unit))
        )
    }

    /// How many bytes must be evicted before `count` more can be written; 0 or less: there is room.
    func lacking(for count: Int64) -> Int64 {
        free().map { $0.minimum.clampedAdding(count).clampedSubtracting($0.free) } ?? 0
    }

    /// When nothing can be evicted, a part of the minimum may be used, but not all of it: the catalog needs some to
    /// evict anything later.
    private static func isTooFull(_ free: Int64, _ minimum: Int64) -> Bool { free < min(16 << 20, minimum / 2) }

    /// The bytes are written, or given up.
    func end(_ count: Int) { state.withLock { $0.underWay -= Int64(count) } }

    /// Called before `count` bytes are written: evicts where the disk would get too full. Waits up to 3 seconds for
    /// documents in use. Must be followed by ``end(_:)`` unless it throws.
    ///
    /// - Throws: ``ContentError/Code/diskFull``.
    func begin(_ count: Int) async throws(ContentError) {
        state.withLock { $0.underWay += Int64(count) }
        let patience = ContinuousClock.now + .seconds(3)
        while true {
            let (wanted, mayTry) = state.withLock { ($0.underWay, $0.mayTry) }
            guard lacking(for: wanted) > 0 else { return }
            if mayTry, let makeRoom = state.withLock({ $0.makeRoom }) { _ = await makeRoom(Need(room: wanted)) }
            guard let (free, minimum) = free(), Self.isTooFull(free.clampedSubtracting(wanted), minimum) else { return }
            guard mayTry, .now < patience, (try? await Task.sleep(for: .milliseconds(50))) != nil else { break }
        }
        end(count)
        state.withLock { $0.inVain = .now }
        throw ContentError(code: .diskFull, message: "\(store.directory): no room on its disk for downloads")
    }

    /// Called before an optional copy of `count` bytes is made: evicts where the disk would get too full, but only if
    /// the copy then fits. Does not wait for documents in use.
    ///
    /// - Parameter evictable: how many bytes could be evicted at most.
    /// - Returns: whether there is room; then ``end(_:)`` must follow.
    func beginCopy(_ count: Int64, evictable: () throws -> Int64) async rethrows -> Bool {
        let wanted = state.withLock { state in
            state.underWay += count
            return state.underWay
        }
        do {
            if lacking(for: wanted) > 0, try evictable() >= lacking(for: wanted),
                let makeRoom = state.withLock({ $0.makeRoom })
            {
                _ = await makeRoom(Need(room: wanted))
            }
        } catch {
            end(Int(count))
            throw error
        }
        guard let (free, minimum) = free(), Self.isTooFull(free.clampedSubtracting(wanted), minimum) else {
            return true
        }
        end(Int(count))
        return false
    }

    /// The disk refused `count` bytes, whatever it reports as free (a quota). Returns whether something was evicted.
    func makeAfterRefusal(of count: Int) async -> Bool {
        guard let makeRoom = state.withLock({ $0.makeRoom }) else { return false }
        return await makeRoom(Need(room: Int64(count), eviction: Int64(count))) > 0
    }

    /// A document may have become evictable.
    func mayHelp() { state.withLock { $0.inVain = nil } }

    /// More bytes are here.
    func grew() { state.withLock { $0.grown }?() }
}

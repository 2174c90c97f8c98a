import ContentStore
import FileProvider
import Glibc
import Locking

/// What a download needs, in bytes.
struct Need: Sendable {
    /// So many are about to be written.
    var room: Int64 = 0
    /// So many are to be evicted at least.
    var eviction: Int64 = 0
}

/// The room on the disk that downloads and copies for uploads are written to, as they ask for it.
package final class DiskRoom: Sendable {
    private struct State {
        /// Evicts until there is room for what is needed; returns how many bytes went.
        var makeRoom: (@Sendable (Need) async -> Int64)?
        var grown: (@Sendable () -> Void)?
        /// When there was no room however long it was waited for: not tried again at every piece of a download.
        var inVain: ContinuousClock.Instant?
        var mayTry: Bool { inVain.map { $0.duration(to: .now) > .seconds(5) } ?? true }
        /// Bytes that are being written just now, by several of them.
        var underWay: Int64 = 0
    }
    private let state = AdaptiveMutex(State())
    private let store: ContentStore
    package let limits: CacheLimits

    init(store: ContentStore, limits: CacheLimits) {
        self.store = store
        self.limits = limits
    }

    /// How much of the disk is set aside for the catalog.
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

    /// Free bytes (for this user), and how many of them must stay so; nil when the disk does not say.
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

    /// What is to stay free may be taken where nothing can be evicted, but not the last of it: the catalog needs some to
    /// evict anything later.
    private static func isTooFull(_ free: Int64, _ minimum: Int64) -> Bool { free < min(16 << 20, minimum / 2) }

    /// They are written, or not.
    func end(_ count: Int) { state.withLock { $0.underWay -= Int64(count) } }

    /// Before `count` bytes are written: evicts where the disk would get too full.
    /// What is in use now may be let go in a moment: it is waited for, for up to 3 seconds.
    /// Unless it throws, ``end(_:)`` is to follow.
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
        throw ContentError(code: .diskFull, message: "\(store.directory): no room on its disk for what is downloaded")
    }

    /// Before a copy of `count` bytes is made that can be done without: evicts where the disk would get too full, but
    /// nothing for a copy that has no room all the same. Nobody waits for what is in use.
    ///
    /// - Parameter evictable: how many bytes could be evicted at most.
    /// - Returns: whether there is room; ``end(_:)`` is to follow then.
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

    /// The disk did not take `count` bytes, whatever it says of itself (a quota). Returns whether something was evicted.
    func makeAfterRefusal(of count: Int) async -> Bool {
        guard let makeRoom = state.withLock({ $0.makeRoom }) else { return false }
        return await makeRoom(Need(room: Int64(count), eviction: Int64(count))) > 0
    }

    /// Something may go that could not before.
    func mayHelp() { state.withLock { $0.inVain = nil } }

    /// More bytes are here.
    func grew() { state.withLock { $0.grown }?() }
}

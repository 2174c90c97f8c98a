internal import Synchronization

/// The numbers of the requests that the kernel waits for. Each request passes twice, in by the thread that read it and
/// out by the one that answers it, so a lock would be contended: a number goes into one of a few slots of its own, and
/// only if those are taken, with hundreds of unanswered requests, into a set behind a lock.
///
/// `@unchecked Sendable`: the slots are atomic, and their address is written in init only.
final class FUSEUnanswered: @unchecked Sendable {
    private static let bits = 10
    private static let reach = 8

    /// 0: free.
    private let slots = UnsafeMutablePointer<Atomic<UInt64>>.allocate(capacity: 1 << bits)
    private let rest = Mutex<Set<UInt64>>([])

    init() {
        for index in 0..<1 << Self.bits { (slots + index).initialize(to: Atomic(0)) }
    }

    deinit {
        slots.deinitialize(count: 1 << Self.bits)
        slots.deallocate()
    }

    /// `number` is not 0 and not in the set.
    func insert(_ number: UInt64) {
        let home = Self.home(of: number)
        for step in 0..<Self.reach {
            let slot = slots + Self.slot(home, step)
            let (isTaken, _) = slot.pointee.compareExchange(
                expected: 0, desired: number, ordering: .sequentiallyConsistent)
            if isTaken { return }
        }
        _ = rest.withLock { $0.insert(number) }
    }

    func remove(_ number: UInt64) {
        let home = Self.home(of: number)
        for step in 0..<Self.reach {
            let slot = slots + Self.slot(home, step)
            guard slot.pointee.load(ordering: .relaxed) == number else { continue }
            // Not if `takeAll` came meanwhile: the slot may be another number's.
            _ = slot.pointee.compareExchange(expected: number, desired: 0, ordering: .sequentiallyConsistent)
            return
        }
        _ = rest.withLock { $0.remove(number) }
    }

    /// Takes all numbers out.
    func takeAll() -> [UInt64] {
        var numbers = rest.withLock { rest in
            defer { rest = [] }
            return Array(rest)
        }
        for index in 0..<1 << Self.bits {
            let number = slots[index].exchange(0, ordering: .sequentiallyConsistent)
            if number != 0 { numbers.append(number) }
        }
        return numbers
    }

    /// Spreads the kernel's consecutive numbers, so that neighbours in time do not share a cache line.
    private static func home(of number: UInt64) -> Int {
        Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) >> (64 - UInt64(bits)))
    }

    private static func slot(_ home: Int, _ step: Int) -> Int { (home + step) & (1 << bits - 1) }
}

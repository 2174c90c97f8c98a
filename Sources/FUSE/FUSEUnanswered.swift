internal import Synchronization

/// What the kernel waits for, by its numbers. Each request passes twice, in by the thread that read it and out by
/// whichever answers it, so there is no lock to meet at: a number is put into one of the few slots that are its own,
/// and only when hundreds are unanswered at a time and those are taken, into a set behind one.
///
/// `@unchecked Sendable`: the slots are atomic, and where they are is written in init only.
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

    /// `number` is not 0 and not in here.
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
            // Not when `takeAll` has been here meanwhile: the slot may be another's.
            _ = slot.pointee.compareExchange(expected: number, desired: 0, ordering: .sequentiallyConsistent)
            return
        }
        _ = rest.withLock { $0.remove(number) }
    }

    /// All that is in here, for the caller alone.
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

    /// The kernel counts up, so that neighbours in time would be neighbours here, on one line of the
    /// processors' caches.
    private static func home(of number: UInt64) -> Int {
        Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) >> (64 - UInt64(bits)))
    }

    private static func slot(_ home: Int, _ step: Int) -> Int { (home + step) & (1 << bits - 1) }
}

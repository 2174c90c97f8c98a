import Foundation
import Synchronization
import Testing

@testable import FUSE

@Suite("Unanswered requests")
struct UnansweredTests {
    @Test func staysUntilItIsRemoved() {
        let unanswered = FUSEUnanswered()
        for number: UInt64 in [2, 4, 6] { unanswered.insert(number) }
        unanswered.remove(4)
        unanswered.remove(8)
        #expect(unanswered.takeAll().sorted() == [2, 6])
        #expect(unanswered.takeAll() == [])
    }

    /// More than there is room for, and numbers that differ in their high bits only.
    @Test(arguments: [1, 2, 1 << 40] as [UInt64])
    func howeverMany(stride: UInt64) {
        let unanswered = FUSEUnanswered()
        let all = (1...5000).map { UInt64($0) * stride }
        for number in all { unanswered.insert(number) }
        for number in all where number / stride % 3 == 0 { unanswered.remove(number) }
        #expect(unanswered.takeAll().sorted() == all.filter { $0 / stride % 3 != 0 })
        for number in all { unanswered.insert(number) }
        for number in all.reversed() { unanswered.remove(number) }
        #expect(unanswered.takeAll() == [])
    }

    /// Each thread answers what the one before it has read, and every 50th is never answered.
    @Test func fromManyThreads() async {
        final class Inbox: Sendable {
            private let numbers = Mutex<[UInt64]>([])
            func put(_ number: UInt64) { numbers.withLock { $0.append(number) } }
            func take() -> UInt64? { numbers.withLock { $0.popLast() } }
        }
        let (threads, steps) = (8, 2000)
        let unanswered = FUSEUnanswered()
        let inboxes = (0..<threads).map { _ in Inbox() }
        let running = Atomic(threads)
        for thread in 0..<threads {
            Thread {
                for step in 0..<steps {
                    let number = UInt64(step * threads + thread + 1) * 2
                    unanswered.insert(number)
                    if step % 50 != 0 { inboxes[(thread + 1) % threads].put(number) }
                    if let other = inboxes[thread].take() { unanswered.remove(other) }
                }
                running.subtract(1, ordering: .sequentiallyConsistent)
            }.start()
        }
        #expect(await eventually(within: 20) { running.load(ordering: .sequentiallyConsistent) == 0 })
        for inbox in inboxes { while let other = inbox.take() { unanswered.remove(other) } }
        let expected = stride(from: 0, to: steps, by: 50).flatMap { step in
            (0..<threads).map { UInt64(step * threads + $0 + 1) * 2 }
        }
        #expect(unanswered.takeAll().sorted() == expected)
    }
}

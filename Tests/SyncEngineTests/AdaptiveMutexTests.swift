import Foundation
import Locking
import Testing

struct AdaptiveMutexTests {
    private struct Odd: Error, Equatable {}

    @Test func oneAtATime() {
        let counter = AdaptiveMutex((count: 0, isBusy: false, overlaps: 0))
        DispatchQueue.concurrentPerform(iterations: 16) { _ in
            for _ in 0..<20_000 {
                counter.withLock { state in
                    if state.isBusy { state.overlaps += 1 }
                    state.isBusy = true
                    state.count += 1
                    state.isBusy = false
                }
            }
        }
        let (count, _, overlaps) = counter.withLock { $0 }
        #expect(count == 320_000 && overlaps == 0)
    }

    @Test func whoThrowsLetsGo() {
        let mutex = AdaptiveMutex(1)
        #expect(throws: Odd()) {
            try mutex.withLock { (value: inout sending Int) throws(Odd) in
                value = 2
                throw Odd()
            }
        }
        #expect(mutex.withLock { $0 } == 2)
    }
}

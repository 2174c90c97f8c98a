import Synchronization
import Testing

@testable import SyncEngine

@Suite struct CallbackTests {
    @Test func whoeverWasToldOfIsCalled() {
        let heard = Mutex<[Int]>([])
        let callback = Callback<Int>()
        callback(1)
        callback.set { number in heard.withLock { $0.append(number) } }
        callback(2)
        callback(3)
        #expect(heard.withLock { $0 } == [2, 3])
    }

    /// A closure that is a Mutex's own value is wrapped once more by each call, until the stack is too small for all of
    /// them.
    @Test func theMillionthCallIsOneCall() {
        let count = Atomic(0)
        let callback = Callback<Void>()
        callback.set { count.add(1, ordering: .relaxed) }
        for _ in 0..<1_000_000 { callback() }
        #expect(count.load(ordering: .relaxed) == 1_000_000)
    }
}

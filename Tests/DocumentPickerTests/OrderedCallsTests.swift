import Synchronization
import Testing

@testable import DocumentPicker

@Suite("Calls in their order")
struct OrderedCallsTests {
    @Test("calls end in their order, although later ones are quicker")
    func order() async {
        let done = Mutex<[Int]>([])
        var calls = OrderedCalls()
        var tasks: [Task<Void, Never>] = []
        for number in 0..<5 {
            tasks.append(
                calls.add {
                    try? await Task.sleep(for: .milliseconds(50 - 10 * number))
                    done.withLock { $0.append(number) }
                })
        }
        await tasks[2].value
        #expect(done.withLock { $0.starts(with: [0, 1, 2]) })
        await tasks[4].value
        #expect(done.withLock { $0 } == [0, 1, 2, 3, 4])
    }
}

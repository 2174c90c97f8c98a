import Dispatch
import Surroundings
import Synchronization
import Testing

@Suite("Names of users")
struct UserNameTests {
    @Test("each caller gets the answer to its own question, also with many at once")
    func atOnce() {
        let numbers = Dictionary(
            uniqueKeysWithValues: (0..<100).compactMap { number in UserNames.name(of: number).map { (number, $0) } })
        #expect(numbers[0] == "root" && numbers.count > 5)
        let wrong = Mutex(0)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<200 {
                for (number, name) in numbers {
                    let isRight = UserNames.name(of: number) == name && UserNames.number(of: name) == number
                    if !isRight { wrong.withLock { $0 += 1 } }
                }
            }
        }
        let count = wrong.withLock { $0 }
        #expect(count == 0)
        #expect(UserNames.name(of: 4_000_000_123) == nil && UserNames.number(of: "nobody-is-called-so") == nil)
        #expect(UserNames.number(ofGroup: "root") == 0 && UserNames.number(ofGroup: "no-group-is-called-so") == nil)
    }
}

import Testing

@testable import SyncEngine

@Suite("The event log", .timeLimit(.minutes(10))) struct EventLogTests {
    private func event(_ number: Int) -> SyncEvent { SyncEvent(.evicted, path: "\(number)", bytes: Int64(number)) }

    private func numbers(_ batch: EventLog.Batch?) -> [Int] {
        batch?.events.compactMap { $0.bytes.map(Int.init) } ?? []
    }

    @Test("a listener gets the events from now on, or the last so many first, in order and once")
    func order() async {
        let log = EventLog()
        for number in 0..<10 { log.add(event(number)) }
        let (new, some, all) = (log.listen(last: 0), log.listen(last: 3), log.listen(last: 1_000_000))
        #expect(new.now(most: 100).events.isEmpty)
        #expect(numbers(some.now(most: 100)) == [7, 8, 9])
        #expect(numbers(all.now(most: 4)) == [0, 1, 2, 3])
        #expect(numbers(all.now(most: 100)) == Array(4..<10))
        log.add(event(10))
        #expect(numbers(await new.next(most: 100)) == [10])
        #expect(numbers(await some.next(most: 100)) == [10])
        #expect(some.now(most: 100).events.isEmpty)
    }

    @Test("a waiting listener is woken")
    func wake() async {
        let log = EventLog()
        let task = Task { numbers(await log.listen(last: 0).next(most: 10)) }
        while log.listenerCount == 0 { await Task.yield() }
        log.add(event(1))
        #expect(await task.value == [1])
    }

    @Test("the last thousand events are kept; a slow listener is told how many it lost, and continues with the oldest")
    func lost() {
        let log = EventLog()
        let listener = log.listen(last: 0)
        for number in 0..<EventLog.capacity { log.add(event(number)) }
        let first = listener.now(most: 10)
        #expect(first.lost == 0 && numbers(first) == Array(0..<10))
        for number in EventLog.capacity..<EventLog.capacity + 15 { log.add(event(number)) }
        let second = listener.now(most: 10)
        #expect(second.lost == 5 && numbers(second) == Array(15..<25))
        let rest = listener.now(most: .max >> 1)
        #expect(rest.lost == 0 && numbers(rest) == Array(25..<EventLog.capacity + 15))
        #expect(log.listen(last: .max).now(most: .max >> 1).events.count == EventLog.capacity)
    }

    @Test("a released or cancelled listener costs nothing")
    func end() async {
        let log = EventLog()
        do { _ = log.listen(last: 0) }
        #expect(log.listenerCount == 0)
        let task = Task { await log.listen(last: 0).next(most: 1) == nil }
        while log.listenerCount == 0 { await Task.yield() }
        task.cancel()
        #expect(await task.value)
        #expect(log.listenerCount == 0)
    }
}

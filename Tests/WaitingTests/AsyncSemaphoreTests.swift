import Synchronization
import Testing
import Waiting

@Suite(.timeLimit(.minutes(5))) struct AsyncSemaphoreTests {
    private final class Inside: Sendable {
        private let state = Mutex((now: [String: Int](), most: 0))
        var most: Int { state.withLock { $0.most } }

        /// - Returns: how many of this kind are in.
        func enter(_ kind: String = "") -> Int {
            state.withLock { state in
                state.now[kind, default: 0] += 1
                state.most = max(state.most, state.now.values.reduce(0, +))
                return state.now[kind] ?? 0
            }
        }

        func leave(_ kind: String = "") { state.withLock { $0.now[kind, default: 0] -= 1 } }
    }

    /// - Parameter wanted: so many wait for each other inside.
    /// - Returns: how many were in at once.
    private func most(_ lanes: AsyncSemaphore, among count: Int, _ wanted: Int) async throws -> Int {
        let inside = Inside()
        try await withThrowingTaskGroup { group in
            for _ in 0..<count {
                group.addTask {
                    try await lanes.enter()
                    defer { lanes.leave() }
                    _ = inside.enter()
                    while inside.most < wanted { try await Task.sleep(for: .milliseconds(1)) }
                    // (One too many would come meanwhile.)
                    try await Task.sleep(for: .milliseconds(5))
                    inside.leave()
                }
            }
            try await group.waitForAll()
        }
        return inside.most
    }

    @Test func noMoreThanMayComeIn() async throws {
        #expect(try await most(AsyncSemaphore(4), among: 30, 4) == 4)
    }

    @Test func aLimitHoldsFromThenOnAndIsSetOnce() async throws {
        let lanes = AsyncSemaphore(8)
        try await lanes.enter()
        lanes.limit(to: 3)
        lanes.limit(to: 3)
        lanes.limit(to: 5)
        lanes.leave()
        #expect(try await most(lanes, among: 30, 3) == 3)
    }

    @Test func whoWaitsComesInWhereThereIsMoreRoom() async throws {
        let lanes = AsyncSemaphore(2)
        try await lanes.enter()
        try await lanes.enter()
        let waiting = Inside()
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    try await lanes.enter()
                    _ = waiting.enter()
                }
            }
            while lanes.queue < 4 { try await Task.sleep(for: .milliseconds(1)) }
            #expect(waiting.most == 0)
            lanes.widen(to: 5)
            #expect(lanes.width == 5)
            while waiting.most < 3 { try await Task.sleep(for: .milliseconds(1)) }
            #expect(lanes.queue == 1)
            lanes.leave()
            try await group.waitForAll()
        }
        for _ in 0..<5 { lanes.leave() }
        // It is not made narrower by that.
        lanes.widen(to: 3)
        #expect(lanes.width == 5)
        #expect(try await most(lanes, among: 30, 5) == 5)
    }

    @Test func whoeverIsInAtTheLimitMayStay() async throws {
        let lanes = AsyncSemaphore(4)
        for _ in 0..<4 { try await lanes.enter() }
        lanes.limit(to: 2)
        let next = Task { try await lanes.enter() }
        lanes.leave()
        lanes.leave()
        try await Task.sleep(for: .milliseconds(50))
        lanes.leave()
        try await next.value
        lanes.leave()
        lanes.leave()
        #expect(try await most(lanes, among: 20, 2) == 2)
    }

    @Test func oneAfterAnotherForEachThing() async throws {
        let order = AsyncLocks<String>()
        let inside = Inside()
        try await withThrowingTaskGroup { group in
            for index in 0..<40 {
                group.addTask {
                    try await order.during(index % 2 == 0 ? "a" : "b", orThrow: CancellationError()) {
                        () async throws(CancellationError) in
                        let key = index % 2 == 0 ? "a" : "b"
                        #expect(inside.enter(key) == 1)
                        while inside.most < 2 { try? await Task.sleep(for: .milliseconds(1)) }
                        try? await Task.sleep(for: .milliseconds(3))
                        inside.leave(key)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(inside.most == 2)
    }
}

/// Runs slow calls one after another, in the order in which they were added. An actor needs this, because it goes on
/// while it waits for a call, and its next call could overtake that one.
struct OrderedCalls {
    private var last: Task<Void, Never>?

    /// - Returns: a task that ends when this call, and all calls before it, have returned.
    mutating func add(_ call: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        let before = last
        let task = Task {
            await before?.value
            await call()
        }
        last = task
        return task
    }
}

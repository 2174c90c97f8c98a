/// Calls that take their time, one after another in the order in which they were added. An actor has it: while it waits for
/// one of them it goes on, and what it says next could overtake it.
struct OrderedCalls {
    private var last: Task<Void, Never>?

    /// Its value is there when the call has returned, and with it all that were added before.
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

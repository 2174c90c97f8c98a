import Locking

/// A callback that is set once and called often.
///
/// Not a Mutex of a closure: each `withLock { $0 }` stores the closure wrapped once more (Swift 6.3), so that the
/// ten-thousandth call goes through twenty thousand closures.
package final class Callback<Argument>: Sendable {
    private struct Body: Sendable { var call: (@Sendable (Argument) -> Void)? }
    private let body = AdaptiveMutex(Body())

    package init() {}

    package func set(_ call: @escaping @Sendable (Argument) -> Void) { body.withLock { $0.call = call } }

    /// Does nothing until a callback is set.
    package func callAsFunction(_ argument: Argument) {
        let call = body.withLock { $0.call }
        call?(argument)
    }
}

extension Callback<Void> {
    package func callAsFunction() { self(()) }
}

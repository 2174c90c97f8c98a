import Locking

/// Whom to tell of something; told once who it is.
///
/// Not a Mutex of a closure: each look at one (`withLock { $0 }`) puts it back wrapped once more (Swift 6.3), so that
/// the ten-thousandth call goes through twenty thousand closures.
package final class Callback<Argument>: Sendable {
    private struct Body: Sendable { var call: (@Sendable (Argument) -> Void)? }
    private let body = AdaptiveMutex(Body())

    package init() {}

    package func set(_ call: @escaping @Sendable (Argument) -> Void) { body.withLock { $0.call = call } }

    /// Nothing happens while nobody is to be told.
    package func callAsFunction(_ argument: Argument) {
        let call = body.withLock { $0.call }
        call?(argument)
    }
}

extension Callback<Void> {
    package func callAsFunction() { self(()) }
}

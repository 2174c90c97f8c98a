/// What a call on the volume comes to: an answer now, or something to wait for before asking again.
package enum Outcome<Value> {
    case ready(Value)
    case wait(Wait)
}

/// Something that only the provider can bring. Run it in a Task, then repeat the call; cancelling the
/// Task ends the wait (an interrupt).
package struct Wait: Sendable {
    package let run: @Sendable () async throws -> Void
    package init(_ run: @escaping @Sendable () async throws -> Void) { self.run = run }
}

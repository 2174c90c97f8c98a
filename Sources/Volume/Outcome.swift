/// What a call on the volume comes to: an answer now, or something to wait for before asking again.
package enum Outcome<Value> {
    case ready(Value)
    case wait(Wait)
}

/// Something that only the provider can bring. Run it in a Task, then repeat the call; cancelling the
/// Task ends the wait (a signal that ends the program).
package struct Wait: Sendable {
    /// In seconds: a program that has waited so long is told that it did not come. A listing comes all the same.
    package let limit: Double
    package let run: @Sendable () async throws -> Void

    /// For what may be as long as a document, or a tree of them, is large; it fails by itself when nothing comes any more.
    package static let longest: Double = 86_400

    package init(limit: Double = Wait.longest, _ run: @escaping @Sendable () async throws -> Void) {
        self.limit = limit
        self.run = run
    }
}

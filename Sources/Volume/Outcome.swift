/// The result of a call on the volume: an answer now, or something to wait for before the call is repeated.
package enum Outcome<Value> {
    case ready(Value)
    case wait(Wait)
}

/// Something that only the provider can bring. Run it in a Task, then repeat the call; cancelling the
/// Task ends the wait (a signal that ends the program).
package struct Wait: Sendable {
    /// In seconds. A program that has waited for so long gets an error; a listing is fetched all the same.
    package let limit: Double
    package let run: @Sendable () async throws -> Void

    /// For downloads of whole documents, or of trees of them, which take as long as they are large; they fail by
    /// themselves when no more bytes come.
    package static let longest: Double = 86_400

    package init(limit: Double = Wait.longest, _ run: @escaping @Sendable () async throws -> Void) {
        self.limit = limit
        self.run = run
    }
}

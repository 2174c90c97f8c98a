import Foundation

/// Polls `condition` until it holds. `limit` is in seconds on an idle machine (``bound(_:)``).
package func waitUntil(_ limit: Double, _ what: String, _ condition: () throws -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(bound(limit))
    while try !condition() {
        if ContinuousClock.now > deadline { throw HarnessError("not within \(bound(limit)) s: \(what)") }
        usleep(5_000)
    }
}

/// The time that `body` takes, in seconds.
package func elapsed(_ body: () throws -> Void) rethrows -> Double {
    let duration = try ContinuousClock().measure(body)
    return Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
}

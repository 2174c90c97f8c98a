import Foundation

/// Polls `condition` until it holds. `limit` is in seconds on an idle machine (``bound(_:)``).
package func waitUntil(_ limit: Double, _ what: String, _ condition: () throws -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(bound(limit))
    while true {
        let begun = ContinuousClock.now
        if try condition() { return }
        if ContinuousClock.now > deadline { throw HarnessError("not within \(bound(limit)) s: \(what)") }
        // Many conditions start programs: a test that waits must leave the processors to the tests beside it.
        let took = begun.duration(to: .now) / .seconds(1)
        usleep(UInt32(max(5_000, min(took * 3, 0.3) * 1_000_000)))
    }
}

/// The time that `body` takes, in seconds.
package func elapsed(_ body: () throws -> Void) rethrows -> Double {
    let duration = try ContinuousClock().measure(body)
    return Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
}

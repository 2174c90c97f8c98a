import Foundation
import Synchronization

/// Respects a server's request for a pause (429 or 503 with `Retry-After`; RFC 9110, 10.2.3).
final class ServerPause: Sendable {
    private let until = Mutex<ContinuousClock.Instant?>(nil)
    /// The longest pause in seconds, whatever the server asks for.
    static let longest = 3_600.0

    /// In seconds; nil: no pause is due.
    var remaining: Double? {
        until.withLock { until in
            guard let moment = until else { return nil }
            let left = ContinuousClock.now.duration(to: moment) / .seconds(1)
            if left <= 0 { until = nil }
            return left > 0 ? left : nil
        }
    }

    func begin(seconds: Double) {
        let moment = ContinuousClock.now + .seconds(min(max(seconds, 0), Self.longest))
        until.withLock { $0 = max($0 ?? moment, moment) }
    }

    /// In seconds, from a number or a date. A date is compared with the answer's own, as clocks differ.
    static func seconds(_ retryAfter: String, answeredAt date: String?) -> Double? {
        let text = retryAfter.trimmingASCIIWhitespace()
        if let seconds = Double(text), seconds.isFinite { return seconds }
        guard let moment = HTTPDate.parse(text) else { return nil }
        let now = date.flatMap(HTTPDate.parse) ?? Int64(Date().timeIntervalSince1970)
        return Double(moment - now)
    }
}

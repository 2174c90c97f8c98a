import Foundation

/// An operation that is measured many times.
struct Benchmark {
    var name: String
    /// The number of operations in one call of a body.
    var count: Int
    var ours: (_ round: Int) async throws -> Void
    /// The same on the local file system; nil if it has no counterpart.
    var native: ((_ round: Int) throws -> Void)?
}

struct Timing {
    struct Result: Encodable {
        var name: String
        /// Microseconds per operation, medians.
        var ours: Double
        var native: Double?

        var line: String {
            func column(_ value: Double?, _ width: Int) -> String {
                let text = value.map { String(format: $0 < 10 ? "%.2f" : "%.1f", $0) } ?? "–"
                return String(repeating: " ", count: max(0, width - text.count)) + text
            }
            return name.padding(toLength: 51, withPad: " ", startingAt: 0) + column(ours, 12) + column(native, 13)
                + column(native.map { ours / $0 }, 8)
        }
    }

    var isQuick: Bool

    /// In turn, so that other load on the machine affects both.
    func run(_ benchmark: Benchmark) async throws -> Result {
        let rounds = isQuick ? 3 : 25
        var ours: [Double] = []
        var native: [Double] = []
        // (The first round warms up caches.)
        for round in 0...rounds {
            let first = try await microseconds { try await benchmark.ours(round) }
            var second: Double?
            if let native = benchmark.native { second = try await microseconds { try native(round) } }
            if round == 0 { continue }
            ours.append(first / Double(benchmark.count))
            if let second { native.append(second / Double(benchmark.count)) }
        }
        return Result(name: benchmark.name, ours: median(ours), native: native.isEmpty ? nil : median(native))
    }

    private func microseconds(_ body: () async throws -> Void) async rethrows -> Double {
        let duration = try await ContinuousClock().measure(body)
        return Double(duration.components.seconds) * 1e6 + Double(duration.components.attoseconds) / 1e12
    }

    private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
}

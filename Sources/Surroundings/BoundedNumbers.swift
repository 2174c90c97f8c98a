/// Limits for numbers from outside: no number may trap or overflow a sum.

/// A waiting time, in seconds, that a person or another program requests.
package enum WaitingTime {
    /// A year. (`Duration.seconds` traps at some 10¹⁹.)
    package static let longest = 31_536_000.0

    /// Refuses the other values that `Double` parses (`nan`, `inf`, `1e300`).
    package static func isPossible(_ seconds: Double) -> Bool { (0...longest).contains(seconds) }
}

extension Int64 {
    /// The sum, limited to `Int64`: a few thousand documents of impossible sizes would overflow.
    package func adding(atMost other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// Limited to the range; NaN gives 0.
    package init(bounding number: Double) {
        self = number.isNaN ? 0 : Int64(Swift.min(Swift.max(number, -0x1p62), 0x1p62))
    }
}

extension Sequence<Int64> {
    package var boundedSum: Int64 { reduce(0) { $0.adding(atMost: $1) } }
}

/// Numbers from elsewhere: what is larger than anybody means ends neither the program nor a sum.

/// How long something may take that a person or another program asks for, in seconds.
package enum WaitingTime {
    /// A year. (`Duration.seconds` ends the program at some 10¹⁹.)
    package static let longest = 31_536_000.0

    /// What `Double` takes as well (`nan`, `inf`, `1e300`) is no time.
    package static func isPossible(_ seconds: Double) -> Bool { (0...longest).contains(seconds) }
}

extension Int64 {
    /// The largest number where the sum would be larger: a few thousand documents of impossible sizes are enough.
    package func adding(atMost other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// Cut to what there is; nil is no number.
    package init(bounding number: Double) {
        self = number.isNaN ? 0 : Int64(Swift.min(Swift.max(number, -0x1p62), 0x1p62))
    }
}

extension Sequence<Int64> {
    package var boundedSum: Int64 { reduce(0) { $0.adding(atMost: $1) } }
}

/// How long one side of a connection waits for the other.
package struct Patience: Sendable {
    /// A request without a sign of life for this long is cancelled.
    package var silence = Duration.seconds(120)
    /// A cancelled request must be answered within this time: else the other side hangs.
    package var afterCancel = Duration.seconds(60)
    /// When nothing has come for this long while requests are open, the other side is pinged.
    package var beforePing = Duration.seconds(15)
    /// A ping must be answered, or anything else must come, within this time: else the other side hangs.
    package var afterPing = Duration.seconds(30)
    /// A new program must have said hello and answered `initialize` within this time.
    package var start = Duration.seconds(30)
    /// A program that is to end must have ended within this time.
    package var end = Duration.seconds(5)

    package init() {}

    /// All times become shorter, or longer, by this factor.
    package func scaled(by factor: Double) -> Patience {
        var result = self
        result.silence = silence * factor
        result.afterCancel = afterCancel * factor
        result.beforePing = beforePing * factor
        result.afterPing = afterPing * factor
        result.start = start * factor
        result.end = end * factor
        return result
    }
}

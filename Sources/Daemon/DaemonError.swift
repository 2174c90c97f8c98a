/// The reason why a domain could not be mounted: one line with the problem, the place and the remedy.
package struct DaemonError: Error, Sendable, CustomStringConvertible {
    package var message: String
    /// The only problem is that a daemon is using the state directory.
    var isInUse = false
    package init(_ message: String) { self.message = message }
    package var description: String { message }
}

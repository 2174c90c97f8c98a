/// Why a domain could not be mounted: one line that says what is wrong, where, and what to do.
package struct DaemonError: Error, Sendable, CustomStringConvertible {
    package var message: String
    /// A daemon has the state directory: only that is in the way.
    var isInUse = false
    package init(_ message: String) { self.message = message }
    package var description: String { message }
}

/// Why a domain could not be mounted: one line that says what is wrong, where, and what to do.
package struct DaemonError: Error, Sendable, CustomStringConvertible {
    package var message: String
    package init(_ message: String) { self.message = message }
    package var description: String { message }
}

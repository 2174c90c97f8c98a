/// The reason why a scenario could not go on; its test fails.
package struct HarnessError: Error, CustomStringConvertible {
    package var description: String
    package init(_ description: String) { self.description = description }
}

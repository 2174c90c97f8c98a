/// Why a scenario could not go on; fails the test that it belongs to.
package struct HarnessError: Error, CustomStringConvertible {
    package var description: String
    package init(_ description: String) { self.description = description }
}

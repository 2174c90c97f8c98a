import Foundation

/// Tests that take minutes, or that have a short form: whole with `HYDRANT_TEST_LONG=1` (`scripts/test stores`).
package enum LongTests {
    package static let areOn = ProcessInfo.processInfo.environment["HYDRANT_TEST_LONG"] != nil
}

import Foundation
import Testing

@testable import Daemon

@Suite("The target folder of a rescue")
struct RescueTargetTests {
    /// The path was looked at before; somebody may have put a link in it since.
    @Test("a target folder that is not empty when it is opened gets no files")
    func notEmpty() throws {
        var template = Array("/tmp/hydrant-rescue-XXXXXX".utf8CString)
        let folder = String(cString: try #require(mkdtemp(&template)))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        _ = try RescueTarget(path: folder)
        try Data().write(to: URL(filePath: folder + "/somebody's", directoryHint: .notDirectory))
        #expect(throws: DaemonError.self) { try RescueTarget(path: folder) }
    }
}

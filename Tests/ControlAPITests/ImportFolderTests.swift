import Foundation
import Testing

@testable import ControlAPI

@Suite("Folders of temporary copies")
struct ImportFolderTests {
    @Test("a process is identified by number and start time: neither an ended process nor a reused number matches")
    func owners() throws {
        let own = try #require(ImportFolder(for: getpid()))
        #expect(own.isAlive)
        #expect(ImportFolder(name: own.name)?.isAlive == true)
        let parts = own.name.split(separator: ".")
        #expect(ImportFolder(name: "\(parts[0]).\(UInt64(parts[1])! + 1).\(parts[2])")?.isAlive == false)
        #expect(ImportFolder(for: 0) == nil)
    }

    @Test(
        "a folder with another kind of name is not a temporary copy, so it is not removed",
        arguments: [
            "", "1", "1.2", "1.2.x", "1.2./../..", "../1.2.UUID", "0.2.UUID", "-1.2.UUID", "1.x/y.UUID", "1.2.UUID/",
        ])
    func others(_ name: String) {
        let uuid = UUID().uuidString
        #expect(ImportFolder(name: name.replacing("UUID", with: uuid)) == nil)
        #expect(ImportFolder(name: "1.2.\(uuid)") != nil)
    }
}

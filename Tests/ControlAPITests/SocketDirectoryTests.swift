import Foundation
import Glibc
import Testing

@testable import ControlAPI

@Suite struct SocketDirectoryTests {
    private func path(runtime: String?, system: String = "/nowhere", fallback: String) throws -> String {
        try SocketDirectory.path(runtimeDirectory: runtime, systemDirectory: system, fallbackParent: fallback)
    }

    @Test func order() throws {
        let folder = try TemporaryFolder()
        for name in ["runtime", "system"] { mkdir("\(folder.path)/\(name)", 0o700) }
        let (runtime, system) = (folder.path + "/runtime", folder.path + "/system")
        let last = "\(folder.path)/hydrant-\(geteuid())"
        #expect(try path(runtime: runtime, system: system, fallback: folder.path) == runtime + "/hydrant")
        #expect(try path(runtime: nil, system: system, fallback: folder.path) == system + "/hydrant")
        #expect(try path(runtime: nil, fallback: folder.path) == last)
        #expect(try path(runtime: "relative", fallback: folder.path) == last)
        #expect(try path(runtime: "/nowhere", fallback: folder.path) == last)
        #expect(try #require(lstatOf(last)).permissions == 0o700)
        // And again, now that it is there.
        #expect(try path(runtime: nil, fallback: folder.path) == last)
    }

    @Test func linkIsRefused() throws {
        let folder = try TemporaryFolder()
        mkdir(folder.path + "/elsewhere", 0o700)
        symlink(folder.path + "/elsewhere", folder.path + "/hydrant")
        let error = #expect(throws: ControlError.self) { try path(runtime: folder.path, fallback: "/nowhere") }
        #expect(error?.code == .refused)
        #expect(error?.message.contains("symbolic link") == true)
    }

    @Test(arguments: [0o750, 0o707, 0o701, 0o1777] as [mode_t])
    func folderOpenToOthersIsRefused(_ mode: mode_t) throws {
        let folder = try TemporaryFolder()
        mkdir(folder.path + "/hydrant", 0o700)
        chmod(folder.path + "/hydrant", mode)
        let error = #expect(throws: ControlError.self) { try path(runtime: folder.path, fallback: "/nowhere") }
        #expect(error?.code == .refused)
    }

    @Test func fileIsRefused() throws {
        let folder = try TemporaryFolder()
        _ = FileManager.default.createFile(atPath: folder.path + "/hydrant", contents: nil)
        let error = #expect(throws: ControlError.self) { try path(runtime: folder.path, fallback: "/nowhere") }
        #expect(error?.code == .refused)
    }

    @Test(.enabled(if: geteuid() == 0)) func foldersOfOthers() throws {
        let folder = try TemporaryFolder()
        mkdir(folder.path + "/hydrant", 0o700)
        chown(folder.path + "/hydrant", 65534, 65534)
        let error = #expect(throws: ControlError.self) { try path(runtime: folder.path, fallback: "/nowhere") }
        #expect(error?.code == .refused)
        // A runtime folder that is not ours (sudo) is passed over, not an error.
        chown(folder.path, 65534, 65534)
        let other = try TemporaryFolder()
        #expect(
            try path(runtime: folder.path, fallback: other.path) == "\(other.path)/hydrant-\(geteuid())")
    }

    @Test func names() throws {
        let name = SocketDirectory.socketName(mountPoint: "/home/x/Drive")
        #expect(name.count == 21)
        #expect(name == SocketDirectory.socketName(mountPoint: "/home//x/./Drive/"))
        #expect(name != SocketDirectory.socketName(mountPoint: "/home/x/Drives"))
        // FNV-1a of "/", from its definition: the value may never change between versions.
        #expect(SocketDirectory.socketName(mountPoint: "/") == "af63a24c860189fe.sock")
        let long = "/" + String(repeating: "x", count: 4000)
        #expect(SocketDirectory.socketName(mountPoint: long).count == 21)
    }

    @Test func pathThatIsTooLong() {
        let error = #expect(throws: ControlError.self) {
            try SocketDirectory.checkLength("/" + String(repeating: "x", count: 107))
        }
        #expect(error?.code == .system)
        #expect(throws: Never.self) { try SocketDirectory.checkLength("/" + String(repeating: "x", count: 106)) }
    }
}

import ControlAPI
import Glibc
import MountHarness
import Testing

/// The kernel's end of a mount is known by a number that the next mount gets.
@Suite("The kernel's connections")
struct KernelConnectionTests {
    @Test("ending the connection of a mount that is gone does not end the next mount's")
    func numbers() async throws {
        try await withMount(.with { $0.isAlone = true }, seed: { try Seeding($0).file("doc.txt", "here") }) { mount in
            for _ in 0..<20 {
                let before = try #require(MountTable.identity(of: mount.mountPoint))
                let connection = try #require(KernelConnection(mountPoint: mount.mountPoint))
                try mount.unmount()
                try mount.mount()
                let isNumberUsedAgain = MountTable.identity(of: mount.mountPoint)?.device == before.device
                connection.abort()
                #expect(try mount.run("cat doc.txt") == "here")
                if isNumberUsedAgain { return }
            }
            Issue.record("no number was used again")
        }
    }

    @Test("ending the connection of a mount ends it")
    func end() async throws {
        try await withMount(seed: { try Seeding($0).file("doc.txt", "here") }) { mount in
            let connection = try #require(KernelConnection(mountPoint: mount.mountPoint))
            connection.abort()
            let (file, error) = (open(mount.mountPoint + "/doc.txt", O_RDONLY), errno)
            #expect(file == -1)
            // (The daemon ends then, and unmounts: the file is gone with the mount.)
            #expect([ENOTCONN, ECONNABORTED, ENOENT].contains(error), "errno \(error)")
        }
    }
}

import Foundation
import Surroundings
import Testing

@testable import ContentStore

@Suite struct NameDurabilityTests {
    private let test: TestStore

    init() throws { test = try TestStore() }

    private func device(_ major: UInt64, _ minor: UInt64) -> dev_t {
        dev_t((minor & 0xff) | (major & 0xfff) << 8 | (minor & ~0xff) << 12 | (major & ~0xfff) << 32)
    }

    @Test func theTypeIsThatOfTheDevice() {
        let text = """
            22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw
            36 22 259:70000 /a\\040b /mnt rw,relatime shared:2 master:3 - xfs /dev/nvme0n1p3 rw
            40 22 0:49 / /home/me/docs rw - fuse.hydrant store rw
            41 22 8:2 / /old rw - ext2 /dev/sdb rw
            """
        let mounts = MountInfo.parse(Array(text.utf8))
        #expect(NameDurability.type(of: device(8, 1), in: mounts) == "ext4")
        #expect(NameDurability.type(of: device(259, 70_000), in: mounts) == "xfs")
        #expect(NameDurability.type(of: device(0, 49), in: mounts) == "fuse.hydrant")
        #expect(NameDurability.type(of: device(8, 2), in: mounts) == "ext2")
        #expect(NameDurability.type(of: device(8, 3), in: mounts) == nil)
        #expect(MountInfo.parse(Array("8:1 - ext4\n\n".utf8)).isEmpty)
    }

    @Test func nothingIsAssumedOfOthers() {
        #expect(!NameDurability.comesWithFiles(in: "/dev/shm"))
        #expect(!NameDurability.comesWithFiles(in: test.directory + "/nowhere"))
    }

    @Test func theDiskHereIsKnown() throws {
        let finder = Process()
        finder.executableURL = URL(fileURLWithPath: "/usr/bin/findmnt")
        finder.arguments = ["-n", "-o", "FSTYPE", "-T", test.directory]
        let output = Pipe()
        finder.standardOutput = output
        try finder.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        finder.waitUntilExit()
        let type = text.split(separator: "\n").last.map(String.init) ?? ""
        #expect(
            NameDurability.comesWithFiles(in: test.directory) == ["ext3", "ext4", "xfs", "btrfs"].contains(type),
            "\(type)")
    }
}

import Foundation
import Surroundings
import Testing

@testable import ContentStore

@Suite struct JournalTests {
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
        #expect(Journal.mount(of: device(8, 1), in: mounts)?.type == "ext4")
        #expect(Journal.mount(of: device(259, 70_000), in: mounts)?.type == "xfs")
        #expect(Journal.mount(of: device(0, 49), in: mounts)?.type == "fuse.hydrant")
        #expect(Journal.mount(of: device(8, 2), in: mounts)?.type == "ext2")
        #expect(Journal.mount(of: device(8, 3), in: mounts)?.type == nil)
        #expect(MountInfo.parse(Array("8:1 - ext4\n\n".utf8)).isEmpty)
    }

    @Test func nothingIsAssumedOfOthers() {
        for folder in ["/dev/shm", test.directory + "/nowhere"] {
            #expect(!Journal.of(folder).namesComeWithFiles && !Journal.of(folder).keepsOrder)
        }
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
        let journal = Journal.of(test.directory)
        #expect(journal.namesComeWithFiles == ["ext3", "ext4", "xfs", "btrfs"].contains(type), "\(type)")
        if type == "ext4" {
            // (Other disks may have a journal, tests' own as well.)
            let journals = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/fs/jbd2")) ?? []
            #expect(!journal.keepsOrder || !journals.isEmpty)
        } else {
            #expect(journal.keepsOrder == (type == "xfs"), "\(type)")
        }
    }

    @Test func aMarkOfASyncIsThatOfItsFile() throws {
        let ids = [GenerationID(inode: 7, number: 1), GenerationID(inode: 8, number: 1)]
        let files = try ids.map { try test.store.open($0, size: 0, baseSize: 0, present: nil) }
        guard test.store.keepsLabels else { return }
        for mark in [UInt64(1), .max] {
            try files[0].writeOut()
            #expect(test.store.setSyncMark(mark, of: files[0]))
            #expect(test.store.syncMark(of: ids[0]) == mark && test.store.syncMark(of: ids[1]) == nil)
        }
        // It is no part of a label.
        #expect(test.store.label(of: ids[0]) == nil)
    }
}

import Surroundings
import Testing

@testable import ControlAPI

@Suite struct MountTableTests {
    @Test("only the kernel's user_id option names the owner of a FUSE mount; other mounts have no owner")
    func owner() {
        func owner(_ line: String) -> UInt32? {
            MountInfo.parse(Array(line.utf8)).first.flatMap { MountTable.Entry($0).owner }
        }
        let options = "rw,user_id=1000,group_id=1000,default_permissions"
        #expect(owner("41 28 0:52 / /home/ada/mnt rw,nosuid - fuse.hydrant dir:/srv \(options)\n") == 1000)
        #expect(owner("41 28 0:52 / /mnt/user_id=7 rw - fuse.hydrant user_id=7 rw,user_id=0,group_id=0\n") == 0)
        #expect(owner("41 28 0:52 / /mnt rw - fuse.hydrant x rw,user_id=1,user_id=0\n") == nil)
        #expect(owner("41 28 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n") == nil)
        #expect(owner("41 28 0:52 / /mnt rw - fuse.hydrant source\n") == nil)
    }

    @Test("mounts of one type are those of the whole table, whatever their names look like")
    func ofOneType() {
        let lines = [
            #"36 25 8:1 / /a\040-\040fuse.hydrant\040b rw - ext4 /dev/sda1 rw"#,
            "37 25 0:52 / /mnt/one rw shared:3 - fuse.hydrant dir:/srv rw,user_id=5",
            "38 25 0:53 / /mnt/two rw - fuse.hydrant-scoped /mnt/one rw", "",
            "39 25 0:54 / /mnt/three rw - fuse.hydrant fuse.hydrant rw,user_id=6", "broken - fuse.hydrant ",
            "40 25 0:55 / /mnt/four rw - fuse.sshfs x rw",
        ]
        for text in [lines.joined(separator: "\n"), lines.joined(separator: "\n") + "\n", "", "\n"] {
            let bytes = Array(text.utf8)
            for type in ["fuse.hydrant", "fuse.hydrant-scoped", "ext4", "none"] {
                #expect(MountInfo.parse(bytes, of: type) == MountInfo.parse(bytes).filter { $0.type == type })
            }
        }
        #expect(MountInfo.parse(Array(lines.joined(separator: "\n").utf8), of: "fuse.hydrant").map(\.user) == [5, 6])
    }
}

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
}

import Foundation
import Surroundings
import Synchronization
import Testing

@testable import FUSE

@Suite("The queue of notifications")
struct NotifierTests {
    private final class Kernel: Sendable {
        let sent = Mutex<[FUSENotifier.Notification]>([])
        let stuck = Mutex<Set<UInt64>>([])

        func take(_ notification: FUSENotifier.Notification) {
            sent.withLock { $0.append(notification) }
            while stuck.withLock({ $0.contains(notification.node) }) { usleep(1000) }
        }
    }

    private func inode(_ node: UInt64, _ offset: Int64 = 0) -> FUSENotifier.Notification {
        .inode(node, offset: offset, length: 0)
    }

    @Test func keepsOrder() {
        let kernel = Kernel()
        // A busy machine may keep a thread waiting for longer than the 100 ms of a mount.
        let notifier = FUSENotifier(patience: 3_600_000_000_000) { kernel.take($0) }
        let all = (1...1000).map { inode($0) }
        for notification in all { notifier.enqueue(notification) }
        notifier.drain()
        #expect(kernel.sent.withLock { $0 } == all)
    }

    @Test func leavesOutWhatIsQueuedAlready() async {
        let kernel = Kernel()
        let notifier = FUSENotifier { kernel.take($0) }
        kernel.stuck.withLock { $0 = [1] }
        notifier.enqueue(inode(1))
        #expect(await eventually(within: 2) { kernel.sent.withLock { $0.count } == 1 })
        // The first one is under way and does not cover what has changed since.
        for _ in 0..<10 { notifier.enqueue(inode(1)) }
        kernel.stuck.withLock { $0 = [] }
        notifier.drain()
        #expect(kernel.sent.withLock { $0 } == [inode(1), inode(1)])
    }

    @Test func overtakesOnlyWhatIsStuck() async {
        let kernel = Kernel()
        let notifier = FUSENotifier { kernel.take($0) }
        kernel.stuck.withLock { $0 = [1, 2] }
        for notification in [inode(1), inode(1, 4096), inode(2), inode(3), inode(2, 4096), inode(4)] {
            notifier.enqueue(notification)
        }
        #expect(await eventually(within: 3) { kernel.sent.withLock { $0.count } == 4 })
        #expect(kernel.sent.withLock { Set($0) } == [inode(1), inode(2), inode(3), inode(4)])
        kernel.stuck.withLock { $0 = [] }
        notifier.drain()
        #expect(Set(kernel.sent.withLock { $0 }.suffix(2)) == [inode(1, 4096), inode(2, 4096)])
    }

    @Test func tellsWhoWantsToKnowWhenItWasSent() async {
        let kernel = Kernel()
        let notifier = FUSENotifier { kernel.take($0) }
        kernel.stuck.withLock { $0 = [1] }
        // Each of them once; their order is nobody's promise.
        let notified = Mutex<[Int]>([])
        func notify(_ number: Int) -> @Sendable () -> Void { { notified.withLock { $0.append(number) } } }
        notifier.enqueue(inode(1), then: notify(1))
        #expect(await eventually(within: 2) { kernel.sent.withLock { $0.count } == 1 })
        // The same twice is sent once, and tells both; it waits for the one under way.
        notifier.enqueue(inode(1), then: notify(2))
        notifier.enqueue(inode(1), then: notify(3))
        #expect(notified.withLock { $0.isEmpty })
        kernel.stuck.withLock { $0 = [] }
        #expect(await eventually(within: 2) { notified.withLock { $0.sorted() } == [1, 2, 3] })
        #expect(kernel.sent.withLock { $0.count } == 2)
        // What will not be sent any more keeps nobody waiting.
        kernel.stuck.withLock { $0 = [1] }
        notifier.enqueue(inode(1))
        #expect(await eventually(within: 2) { kernel.sent.withLock { $0.count } == 3 })
        notifier.enqueue(inode(1), then: notify(4))
        notifier.stop()
        #expect(notified.withLock { $0.sorted() } == [1, 2, 3, 4])
        notifier.enqueue(inode(1), then: notify(5))
        #expect(notified.withLock { $0.sorted() } == [1, 2, 3, 4, 5])
        kernel.stuck.withLock { $0 = [] }
    }

    @Test func tellsWhenAllAboutANodeWasSent() async {
        let kernel = Kernel()
        let notifier = FUSENotifier { kernel.take($0) }
        kernel.stuck.withLock { $0 = [1, 3] }
        let notified = Mutex<[Int]>([])
        func notify(_ number: Int) -> @Sendable () -> Void { { notified.withLock { $0.append(number) } } }
        for notification in [inode(1), inode(3)] { notifier.enqueue(notification) }
        #expect(await eventually(within: 2) { kernel.sent.withLock { $0.count } == 2 })
        notifier.enqueue(inode(1, 4096))
        for node in 1...3 { notifier.settle(UInt64(node), then: notify(node)) }
        #expect(notified.withLock { $0 } == [2])
        kernel.stuck.withLock { $0 = [3] }
        #expect(await eventually(within: 2) { notified.withLock { $0 } == [2, 1] })
        #expect(kernel.sent.withLock { $0 } == [inode(1), inode(3), inode(1, 4096)])
        // What hangs in the kernel at the end keeps nobody waiting.
        notifier.stop()
        #expect(notified.withLock { $0 } == [2, 1, 3])
        kernel.stuck.withLock { $0 = [] }
    }

    @Test func stopLetsWaitersGo() async {
        let kernel = Kernel()
        let notifier = FUSENotifier { kernel.take($0) }
        kernel.stuck.withLock { $0 = [1] }
        notifier.enqueue(inode(1))
        #expect(await eventually(within: 2) { kernel.sent.withLock { $0.count } == 1 })
        Thread {
            usleep(100_000)
            notifier.stop()
        }.start()
        notifier.drain()
        kernel.stuck.withLock { $0 = [] }
        notifier.enqueue(inode(2))
        notifier.drain()
        #expect(kernel.sent.withLock { $0 } == [inode(1)])
    }

    @Test func readsTheMountTable() {
        let text = """
            22 1 254:0 / / rw,relatime - ext4 /dev/root rw
            36 22 0:49 / /mnt/with\\040space rw,nosuid shared:1 master:2 - fuse.hydrant x rw,user_id=0
            37 22 0:50 / /mnt/covered rw,nosuid - fuse x rw
            38 22 0:51 / /mnt/covered rw,nosuid - tmpfs x rw
            """
        let table = MountTable(MountInfo.parse(Array(text.utf8)))
        #expect(table.fuseDevice(at: "/mnt/with space") == "0:49")
        #expect(table.fuseDevice(at: "/mnt/covered") == nil)
        #expect(table.fuseDevice(at: "/") == nil)
        #expect(table.fuseDevice(at: "/nowhere") == nil)
    }
}

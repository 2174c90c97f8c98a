import Foundation
import Synchronization

/// Tells when the mounts of this machine change (proc(5): mountinfo wakes poll(2)). One thread, which ends some
/// seconds after the
/// stream.
enum MountChanges {
    /// At once, and after each change; several may become one.
    static func stream() -> AsyncStream<Void> {
        let (stream, changes) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let isOver = Flag()
        changes.onTermination = { _ in isOver.set() }
        changes.yield()
        let thread = Thread {
            let table = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
            defer { if table >= 0 { close(table) } }
            while !isOver.isSet {
                var waiting = [pollfd(fd: table, events: Int16(POLLPRI), revents: 0)]
                // (Without /proc it only waits, and tells each time.)
                if poll(&waiting, 1, 5_000) != 0 || table < 0 { changes.yield() }
            }
        }
        thread.name = "mounts"
        thread.start()
        return stream
    }

    private final class Flag: Sendable {
        private let value = Atomic(false)
        var isSet: Bool { value.load(ordering: .relaxed) }
        func set() { value.store(true, ordering: .relaxed) }
    }
}

import Foundation
import Surroundings

/// The process of the daemon that serves a mount. Its start time tells it from a later process with the same pid.
package struct ServingProcess: Sendable {
    package let pid: Int32
    private let started: String

    package init?(pid: Int32) {
        guard pid > 1, let fields = ProcessStatus.fields(of: pid), fields.count > 19 else { return nil }
        self.pid = pid
        started = String(fields[19])
    }

    /// The process that listens on the control socket of a mount (SO_PEERCRED of unix(7)), even if it hangs. Nil: the
    /// daemon is dead. A dead daemon whose threads the kernel still holds counts as listening; ``isAlive`` is false for
    /// it.
    package static func serving(_ mountPoint: String) -> ServingProcess? {
        guard let path = try? SocketDirectory.socketPath(mountPoint: mountPoint),
            let descriptor = ClientSocket.connectNow(path)
        else { return nil }
        defer { close(descriptor) }
        // struct ucred, which Glibc's module leaves out: pid, uid, gid.
        var credentials: (pid: Int32, uid: uid_t, gid: gid_t) = (0, 0, 0)
        var length = socklen_t(12)
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return nil }
        return ServingProcess(pid: credentials.pid)
    }

    /// False also for a zombie, whose parent has not waited for it.
    package var isAlive: Bool {
        guard let fields = ProcessStatus.fields(of: pid), fields.count > 19, fields[19] == started else { return false }
        return fields[0] != "Z" && fields[0] != "X"
    }

    /// Waits for the process to end; false: it still runs after this many seconds.
    package func hasEnded(within seconds: Double) async -> Bool {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while isAlive {
            if .now >= deadline { return false }
            do { try await Task.sleep(for: .milliseconds(20)) } catch { return false }
        }
        return true
    }

    package func signal(_ number: Int32) { if isAlive { kill(pid, number) } }
}

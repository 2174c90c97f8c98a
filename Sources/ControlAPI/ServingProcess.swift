import Foundation
import Surroundings

/// The daemon that serves a mount, as a process. Numbers of processes are used again: with the moment of its start it
/// is known to be still the same.
package struct ServingProcess: Sendable {
    package let pid: Int32
    private let started: String

    package init?(pid: Int32) {
        guard pid > 1, let fields = ProcessStatus.fields(of: pid), fields.count > 19 else { return nil }
        self.pid = pid
        started = String(fields[19])
    }

    /// Who listens on the control socket of a mount, as the kernel says (SO_PEERCRED of unix(7)); also when it hangs.
    /// Nil: nobody does, the daemon is
    /// dead; but one whose threads the kernel still holds counts as listening (``isAlive`` says that it is dead).
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

    /// One that has ended and was not collected by its parent is dead as well.
    package var isAlive: Bool {
        guard let fields = ProcessStatus.fields(of: pid), fields.count > 19, fields[19] == started else { return false }
        return fields[0] != "Z" && fields[0] != "X"
    }

    /// Says whether it has ended within so many seconds.
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

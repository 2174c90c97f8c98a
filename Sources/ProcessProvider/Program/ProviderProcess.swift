import CLinux
import Foundation
import Surroundings
import Synchronization

/// A running provider program, whose standard input and output are one socket.
///
/// The thread that has started it waits for its end: the kernel kills the program when that thread ends, as it does with
/// the whole daemon. So no program outlives its daemon.
package final class ProviderProcess: Sendable {
    package struct Failure: Error {
        package let number: Int32
    }

    package let pid: Int32
    private let ending: Mutex<(status: Int32?, waiters: [CheckedContinuation<Int32, Never>])>

    private init(_ pid: Int32) {
        self.pid = pid
        ending = Mutex((nil, []))
    }

    /// - Parameters:
    ///   - words: the program, found in PATH, and its arguments.
    ///   - standardError: nil: this process's. It stays open.
    /// - Returns: the program, and our end of the socket.
    package static func start(
        _ words: [String], standardError: Int32? = nil
    ) async throws(Failure) -> (process: ProviderProcess, socket: Int32) {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Failure(number: errno)
        }
        let (own, other) = (ends[0], ends[1])
        let started: Result<ProviderProcess, Failure> = await withCheckedContinuation { continuation in
            Thread {
                let argv = (words.map { strdup($0) } + [nil])
                defer { for word in argv { free(word) } }
                var pid = pid_t()
                let code = clinux_spawn_tied(words[0], argv, environ, other, standardError ?? -1, &pid)
                close(other)
                guard code == 0 else { return continuation.resume(returning: .failure(Failure(number: code))) }
                let process = ProviderProcess(pid)
                continuation.resume(returning: .success(process))
                process.wait()
            }.start()
        }
        do { return (try started.get(), own) } catch {
            close(own)
            throw error
        }
    }

    private func wait() {
        var status: Int32 = 0
        // The number stays the program's until the state says that it has ended.
        var found = siginfo_t()
        while waitid(P_PID, id_t(pid), &found, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
        let waiters = ending.withLock { ending in
            // What it has started and left behind ends with it. (Until it is collected, its number, which is the
            // group's, is not reused.)
            _ = Glibc.kill(-pid, SIGKILL)
            while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
            ending.status = status
            defer { ending.waiters = [] }
            return ending.waiters
        }
        for waiter in waiters { waiter.resume(returning: status) }
    }

    /// Kills the program and all that it has started, as far as that is in its process group.
    package func kill() {
        ending.withLock { ending in
            if ending.status == nil { _ = Glibc.kill(-pid, SIGKILL) }
        }
    }

    /// How it ended, for people.
    package func end() async -> String {
        let status = await withCheckedContinuation { continuation in
            let status = ending.withLock { ending in
                if ending.status == nil { ending.waiters.append(continuation) }
                return ending.status
            }
            if let status { continuation.resume(returning: status) }
        }
        let signal = status & 0x7f
        return signal == 0
            ? "it ended with status \(status >> 8 & 0xff)"
            : "it was killed by signal \(signal) (\(String(cString: strsignal(signal))))"
    }
}

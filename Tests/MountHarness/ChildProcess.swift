import CLinux
import Foundation
import Synchronization

/// The end of a child process.
package struct ChildResult: Sendable, CustomStringConvertible {
    /// The exit status; 128 + N when signal N ended it, as shells have it.
    package var status: Int32
    package var stdout: String
    package var stderr: String
    /// Whether it was killed because its time was up.
    package var timedOut: Bool

    package var succeeded: Bool { status == 0 }
    package var lines: [String] { stdout.split(separator: "\n").map(String.init) }
    package var description: String {
        "status \(status)\(timedOut ? " (timed out)" : ""), stdout “\(stdout.prefix(2_000))”, stderr “\(stderr.prefix(2_000))”"
    }
}

/// A program that runs beside the test, in its own process group.
package final class ChildProcess: Sendable {
    package let pid: Int32
    private let output: String
    private let ended = Mutex<Int32?>(nil)

    /// - Parameter output: a path; `.out` and `.err` are added.
    package init(_ arguments: [String], environment: [String: String], output: String) throws {
        self.output = output
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output + ".out", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, output + ".err", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        // (Foundation opens files so that children inherit them, which other tests do at the same time.)
        clinux_spawn_close_from(&actions, 3)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        // Dispatch's threads block signals, and children inherit that; the test's parent may ignore some.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        let words = arguments.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in words + variables { free(pointer) } }
        var pid = pid_t()
        let result = posix_spawnp(&pid, arguments[0], &actions, &attributes, words, variables)
        guard result == 0 else {
            throw HarnessError("cannot start \(arguments[0]): \(String(cString: strerror(result)))")
        }
        self.pid = pid
    }

    /// Its output so far.
    package var stdout: String { text(".out") }
    package var stderr: String { text(".err") }

    private func text(_ suffix: String) -> String {
        String(decoding: FileManager.default.contents(atPath: output + suffix) ?? Data(), as: UTF8.self)
    }

    /// Collects the child if it has ended.
    package var isRunning: Bool { collect() == nil }

    private func collect() -> Int32? {
        ended.withLock { ended in
            if ended != nil { return ended }
            var status: Int32 = 0
            guard waitpid(pid, &status, WNOHANG) == pid else { return nil }
            let signal = status & 0x7f
            ended = signal == 0 ? (status >> 8) & 0xff : 128 + signal
            return ended
        }
    }

    /// Whether the shell has become `program` and waits in a system call: for a reply, or in the kernel for another
    /// process to release a folder (not for pages from the disk).
    package func waits(as program: String) -> Bool {
        func text(_ name: String) -> String {
            String(decoding: FileManager.default.contents(atPath: "/proc/\(pid)/\(name)") ?? Data(), as: UTF8.self)
        }
        let place = text("wchan")
        return text("comm") == program + "\n" && !["", "0"].contains(place) && !place.contains("folio")
    }

    package func signal(_ number: Int32) { if isRunning { kill(pid, number) } }

    /// Whether the program or a process that it started runs. (Ended ones may not be collected yet.)
    package var hasLivingGroup: Bool {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.contains { name in
            guard let number = Int32(name), getpgid(number) == pid,
                let status = FileManager.default.contents(atPath: "/proc/\(number)/stat")
            else { return false }
            // PID (COMMAND) STATE …
            let state = String(decoding: status, as: UTF8.self).split(separator: ")").last?.first { $0 != " " }
            return state.map { !"ZX".contains($0) } ?? false
        }
    }

    /// Kills the program and all processes that it started.
    package func destroy() {
        kill(-pid, SIGKILL)
        _ = collect()
    }

    /// Waits for the end; kills it after `limit` seconds (``bound(_:)``).
    package func wait(limit: Double) -> ChildResult {
        let deadline = ContinuousClock.now + .seconds(bound(limit))
        var timedOut = false
        while true {
            if let status = collect() {
                return ChildResult(status: status, stdout: text(".out"), stderr: text(".err"), timedOut: timedOut)
            }
            if !timedOut, ContinuousClock.now > deadline {
                timedOut = true
                kill(-pid, SIGKILL)
            }
            usleep(2_000)
        }
    }
}

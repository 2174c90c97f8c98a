import ArgumentParser
import Foundation

/// Starts this command again as a daemon of its own session and waits until it says how it went. (A
/// running Swift process must not fork: its threads would be gone.)
struct BackgroundMount {
    let mountPoint: String

    func run() throws(ExitCode) -> Int32 {
        var pipe: [Int32] = [0, 0]
        guard Foundation.pipe(&pipe) == 0 else { throw fail("cannot make a pipe: \(String(cString: strerror(errno)))") }
        let pid = try spawn(ready: pipe[1], unused: pipe[0])
        close(pipe[1])
        let answer = readAll(pipe[0])
        close(pipe[0])
        if answer.hasPrefix("ready") {
            // From here, not from the daemon: a process must not touch the mount that it serves.
            var status = stat()
            guard stat(mountPoint, &status) == 0 else {
                throw fail("\(mountPoint): mounted, but does not answer: \(String(cString: strerror(errno)))")
            }
            return 0
        }
        if answer.hasPrefix("error ") {
            throw fail(String(answer.dropFirst(6)).trimmingCharacters(in: .newlines))
        }
        var status: Int32 = 0
        waitpid(pid, &status, 0)
        throw fail("\(mountPoint): the daemon ended before the mount was up (wait status \(status)); try --foreground")
    }

    private func spawn(ready: Int32, unused: Int32) throws(ExitCode) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, try logPath(), O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_addclose(&actions, unused)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Int16(0x80))  // POSIX_SPAWN_SETSID

        setenv(MountCommand.readyVariable, "\(ready)", 1)
        var arguments: [UnsafeMutablePointer<CChar>?] =
            (CommandLine.arguments + ["--foreground"]).map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var pid = pid_t()
        // By its own name, so that ps shows it.
        let program = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "/proc/self/exe"
        let result = posix_spawn(&pid, program, &actions, &attributes, &arguments, environ)
        guard result == 0 else { throw fail("cannot start the daemon: \(String(cString: strerror(result)))") }
        return pid
    }

    /// Where a daemon in the background writes its log.
    private func logPath() throws(ExitCode) -> String {
        let environment = ProcessInfo.processInfo.environment
        let base = environment["XDG_STATE_HOME"] ?? environment["HOME"].map { $0 + "/.local/state" } ?? "/tmp"
        let folder = base + "/hydrant"
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            return "/dev/null"
        }
        return folder + "/hydrant.log"
    }

    private func readAll(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            if count <= 0 { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

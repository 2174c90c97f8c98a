import ArgumentParser
import FileCoordination
import Foundation

/// A command that runs while items are held. They are held until it has ended, even if this process is killed.
struct CoordinatedCommand: Sendable {
    let words: [String]

    /// Waits for a line before it becomes the command: by then the daemon knows whom the claims are bound to.
    private static let gate = #"read -r go <&9 && [ "$go" = go ] || exit 125; exec 9<&- "$@""#

    /// - Returns: how it ended, as a shell would say it.
    func run() async throws -> Int32 {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw fail("no pipe: \(String(cString: strerror(errno)))") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[1]) }
        let child = try spawn(gate: ends[0])
        close(ends[0])
        do {
            try await FileCoordinator.bindHeldClaims(to: child)
            guard Glibc.write(ends[1], "go\n", 3) == 3 else { throw fail("\(words[0]): cannot be started") }
        } catch {
            kill(child, SIGKILL)
            _ = await Self.wait(for: child)
            throw error
        }
        return await Self.wait(for: child)
    }

    private func spawn(gate: Int32) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, gate, 9)
        var environment = ProcessInfo.processInfo.environment
        environment[FileCoordinator.environmentVariable] = FileCoordinator.heldClaims
        let arguments = ["/bin/sh", "-c", Self.gate, "sh"] + words
        let (argv, envp) = (arguments.map { strdup($0) } + [nil], environment.map { strdup("\($0)=\($1)") } + [nil])
        defer { (argv + envp).forEach { free($0) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, "/bin/sh", &actions, nil, argv, envp)
        guard code == 0 else { throw fail("\(words[0]): cannot be started: \(String(cString: strerror(code)))") }
        return child
    }

    private static func wait(for child: pid_t) async -> Int32 {
        await withCheckedContinuation { continuation in
            Thread {
                var status: Int32 = 0
                while waitpid(child, &status, 0) < 0 && errno == EINTR {}
                // As WIFEXITED, WEXITSTATUS and WTERMSIG have it (wait(2)).
                continuation.resume(returning: status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f)
            }.start()
        }
    }
}

enum StandardInput {
    /// Returns when nothing more can come.
    static func end() async {
        await withCheckedContinuation { continuation in
            Thread {
                while true {
                    var bytes = [UInt8](repeating: 0, count: 4_096)
                    let count = Glibc.read(0, &bytes, bytes.count)
                    if count == 0 || count < 0 && errno != EINTR { break }
                }
                continuation.resume()
            }.start()
        }
    }
}

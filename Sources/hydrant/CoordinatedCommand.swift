import ArgumentParser
import ChildProcess
import FileCoordination
import Foundation

/// A command that runs while items are held. They are held until it has ended, even if this process is killed.
struct CoordinatedCommand: Sendable {
    let words: [String]

    /// A shell that waits for a line before it becomes the command: by then the daemon has bound the claims to its pid.
    private static let gate = #"read -r go <&9 && [ "$go" = go ] || exit 125; exec 9<&- "$@""#

    /// - Returns: the exit status as a shell reports it.
    func run() async throws -> Int32 {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw fail("cannot make a pipe: \(String(cString: strerror(errno)))") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[1]) }
        let child = try spawn(gate: ends[0])
        close(ends[0])
        do {
            try await FileCoordinator.bindHeldClaims(to: child)
            guard Glibc.write(ends[1], "go\n", 3) == 3 else { throw fail("\(words[0]): cannot be started") }
        } catch {
            kill(child, SIGKILL)
            _ = await Spawn.ending(of: child)
            throw error
        }
        return await Spawn.ending(of: child)
    }

    private func spawn(gate: Int32) throws -> pid_t {
        var environment = ProcessInfo.processInfo.environment
        environment[FileCoordinator.environmentVariable] = FileCoordinator.heldClaims
        return try ChildCommand.spawn(
            "/bin/sh", ["/bin/sh", "-c", Self.gate, "sh"] + words, environment, inherited: gate)
    }
}

enum StandardInput {
    /// Returns at the end of standard input.
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

import CLinux
import ChildProcess
import ControlAPI
import Foundation

/// Starts a program, and waits for its end.
struct ProgramStart: Sendable {
    var words: [String]
    /// Variables added to our environment.
    var environment: [String: String]
    var folder: String?
    /// The program has this process's terminal; otherwise it has a session of its own, which outlives the terminal, and
    /// its output is discarded.
    var isInForeground: Bool

    /// Blocks. The program is a child of this process.
    func run() throws -> pid_t {
        if let folder, access(folder, X_OK) != 0 {
            throw DocumentInteractionError(
                .notStarted,
                "\(ByteText.shown(folder)): \(String(cString: strerror(errno))); the desktop entry of "
                    + "\(ByteText.shown(words[0])) says to start it there (Path)")
        }
        let all = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        do {
            return try Spawn.start(
                words[0], words.map { ByteText.bytes($0) },
                environment: all.map { ByteText.bytes("\($0.key)=\($0.value)") },
                as: isInForeground ? .ordinary : .ownSession,
                usual: [SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD]
            ) { actions in
                if let folder { clinux_spawn_change_folder(&actions, folder) }
                // Nothing else that is open here is the program's.
                clinux_spawn_close_from(&actions, 3)
                if isInForeground { return }
                posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
                posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
                posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
            }
        } catch {
            throw DocumentInteractionError(.notStarted, "\(words[0]): cannot be started: \(error.reason)")
        }
    }

    /// Terminal emulators, with the words before a command line.
    private static let emulators = [
        ["xdg-terminal-exec"], ["gnome-terminal", "--wait", "--"], ["konsole", "-e"], ["x-terminal-emulator", "-e"],
        ["xterm", "-e"],
    ]

    /// The words that run a command in a terminal emulator; nil: none is installed.
    static func inTerminal(_ words: [String]) -> [String]? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let found = emulators.first { emulator in
            folders.contains { access("\($0)/\(emulator[0])", X_OK) == 0 }
        }
        return found.map { $0 + words }
    }
}

/// A command in a terminal emulator of the desktop.
package enum TerminalProgram {
    /// Returns when the emulator has ended, with its status (some emulators end at once).
    ///
    /// - Throws: no emulator is installed, or it cannot be started.
    package static func run(_ words: [String]) async throws -> Int32 {
        guard let all = ProgramStart.inTerminal(words) else {
            throw DocumentInteractionError(
                .notStarted, "no terminal emulator is installed; run it in a terminal: \(words.joined(separator: " "))")
        }
        let start = ProgramStart(words: all, environment: [:], folder: nil, isInForeground: false)
        return await Spawn.ending(of: try start.run())
    }
}

import CLinux
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
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let folder {
            guard access(folder, X_OK) == 0 else {
                throw DocumentInteractionError(
                    .notStarted,
                    "\(ByteText.shown(folder)): \(String(cString: strerror(errno))); the desktop entry of "
                        + "\(ByteText.shown(words[0])) says to start it there (Path)")
            }
            clinux_spawn_change_folder(&actions, folder)
        }
        // The program inherits no other descriptors.
        clinux_spawn_close_from(&actions, 3)
        var flags: Int32 = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        if !isInForeground {
            flags |= Self.ownSession
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
            posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Int16(flags))
        // Our thread blocks signals, and our process may ignore some; the program must inherit neither.
        var (none, usual) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        sigemptyset(&usual)
        for signal in [SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD] { sigaddset(&usual, signal) }
        posix_spawnattr_setsigdefault(&attributes, &usual)
        let all = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let argv = words.map { ByteText.withPath($0) { strdup($0) } } + [nil]
        let envp = all.map { variable in ByteText.withPath("\(variable.key)=\(variable.value)") { strdup($0) } } + [nil]
        defer { (argv + envp).forEach { free($0) } }
        var child = pid_t()
        let code = posix_spawnp(&child, words[0], &actions, &attributes, argv, envp)
        guard code == 0 else {
            throw DocumentInteractionError(
                .notStarted, "\(words[0]): cannot be started: \(String(cString: strerror(code)))")
        }
        return child
    }

    /// POSIX_SPAWN_SETSID (spawn.h), which Swift does not import.
    private static let ownSession: Int32 = 0x80

    /// The exit status as a shell reports it. Waits on a thread of its own, because that may take days.
    static func ending(of child: pid_t) async -> Int32 {
        await withCheckedContinuation { continuation in
            Thread {
                var status: Int32 = 0
                while waitpid(child, &status, 0) < 0 && errno == EINTR {}
                // WIFEXITED, WEXITSTATUS and WTERMSIG of wait(2).
                continuation.resume(returning: status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f)
            }.start()
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

import Accounts
import ArgumentParser
import ChildProcess
import ControlAPI
import Daemon
import DocumentInteraction
import Foundation
import Notices
import SessionBus
import Stores
import Surroundings

struct NotifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify", abstract: "Show what needs you as notices of the desktop, until the session ends.",
        discussion: """
            Notices are about conflicts, changes that the store refuses, a password that is needed, deletions that are \
            held, a full disk, and large downloads, in all mounts of yours, also those that come later. Their buttons \
            do what hydrant resolve, retry, discard and login do, and ask before something is lost. Several of a kind \
            become one notice; one whose cause is gone closes by itself; what mends itself (a store that does not \
            answer for a while) has none. In English or German, by LANGUAGE, LC_MESSAGES or LANG.

            There is one for each session; a second one says so, and ends.

            Examples:
              hydrant notify --install
              hydrant notify &
              hydrant notify --json | jq -r 'select(.event == "show") | .title'
            """)

    @Flag(
        help:
            "Print an object a line instead of showing notices: event (show or close), kind, mountPoint, title, body, buttons (action, label), commands, progress."
    )
    var json = false

    @Option(help: ArgumentHelp("Show downloads of at least so much: 500M, or a number of bytes.", valueName: "size"))
    var largeDownload = "100M"

    @Flag(
        inversion: .prefixedNo, help: "Show an icon with the state of the mounts, and a menu, in the desktop's panel.")
    var icon = true

    @Flag(help: "Start it with each session of yours from now on (an entry in $XDG_CONFIG_HOME/autostart).")
    var install = false

    @Flag(help: "Do not start it with your sessions any more.")
    var remove = false

    func validate() throws {
        _ = try large()
        if install && remove { throw ValidationError("--install and --remove exclude each other") }
        if json && (install || remove) {
            throw ValidationError("--json shows notices; it excludes --install and --remove")
        }
    }

    private func changeAutostart() throws {
        guard let autostart = Autostart() else { throw fail(BaseDirectory.configuration.missing) }
        do {
            if install {
                try autostart.install(Self.executable)
                print("\(autostart.path): starts hydrant notify with each session")
            } else {
                print(try autostart.remove() ? "\(autostart.path): removed" : "\(autostart.path): was not there")
            }
        } catch let failure as NoticeFailure {
            throw fail(failure.message)
        } catch { throw fail("\(autostart.path): \(error.localizedDescription)") }
    }

    private func large() throws -> Int64 {
        guard let size = try? DaemonConfiguration.rate(largeDownload, of: "--large-download") else {
            throw ValidationError("--large-download \(largeDownload): give a size, such as 500M")
        }
        return size
    }

    private static let name = "org.hydrant.Notify"

    func run() async throws {
        if install || remove { return try changeAutostart() }
        let environment = ProcessInfo.processInfo.environment
        let words = NoticeWords(NoticeWords.language(of: environment), signInCommand: SignInHint.command)
        if json {
            let tools = try tools(words, nil)
            // (A reader that has gone ends this process: StandardOutput.)
            let lines = NoticeLines { line in try? StandardOutput.write(JSONText(line)) }
            return try await interruptible { await NoticeService(tools, lines, hasIcon: false).run() }
        }
        let bus: SessionBus
        do {
            bus = try await SessionBus.connect()
            guard try await bus.own(Self.name) else { return warn("hydrant notify runs in this session already") }
        } catch {
            throw fail("no session bus (\(error)); run this in a desktop's session", CommandExit.unavailable)
        }
        let tools = try tools(words, bus)
        try await interruptible { [icon] in
            await NoticeService(tools, await DesktopNotices(bus), hasIcon: icon).run()
            bus.close()
        }
    }

    private func tools(_ words: NoticeWords, _ bus: SessionBus?) throws -> NoticeTools {
        NoticeTools(words, bus: bus, large: try large()) { path in
            try Self.start([Array("open".utf8), path])
        } runInTerminal: { words in
            let status = try await TerminalProgram.run([Self.executable] + words)
            if status != 0 { throw NoticeFailure("hydrant \(words.joined(separator: " ")) ended with \(status)") }
        }
    }

    private static var executable: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "hydrant"
    }

    /// Starts `hydrant` with these words, without a terminal.
    private static func start(_ words: [[UInt8]]) throws {
        let child: pid_t
        do {
            child = try Spawn.start(
                executable, [Array("hydrant".utf8)] + words, as: .ownSession,
                usual: [SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP]
            ) { actions in
                for (file, mode) in [(STDIN_FILENO, O_RDONLY), (STDOUT_FILENO, O_WRONLY), (STDERR_FILENO, O_WRONLY)] {
                    posix_spawn_file_actions_addopen(&actions, file, "/dev/null", mode, 0)
                }
            }
        } catch { throw NoticeFailure("hydrant: cannot be started: \(error.reason)") }
        Task { _ = await Spawn.ending(of: child) }
    }
}

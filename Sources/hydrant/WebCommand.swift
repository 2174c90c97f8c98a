import ArgumentParser
import ChildProcess
import Foundation
import Surroundings

struct WebCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Serve a page for your browser, with your mounts, their documents and their state.",
        discussion: """
            The page shows what is mounted, folders with the state of each document, search, what waits and why, conflicts \
            and held deletions. It works on this machine only, and for you only: the printed address has a code that opens the \
            page once, within 15 minutes. Each call prints a new address, of the same server if it runs already. It ends by \
            itself after 12 hours without use. From another machine: ssh -L PORT:127.0.0.1:PORT HOST, with --port PORT.

            Examples:
              hydrant web --open
              hydrant web --port 8800
              hydrant web --json | jq -r .address
              hydrant web --stop
            """)

    @Flag(help: "Open the page in your browser (xdg-open).")
    var open = false

    @Option(help: ArgumentHelp("The port to listen on; default: a free one.", valueName: "number"))
    var port: Int?

    @Flag(help: "End the server.")
    var stop = false

    @Flag(help: "Print an object: address, pid.")
    var json = false

    private static let program = "hydrant-web"
    /// For the server to begin, in milliseconds.
    private static let patience: Int32 = 30_000

    private struct Started: Decodable {
        var address: String
        var pid: Int32
        var page: String?
    }

    private struct Line: Encodable {
        var address: String
        var pid: Int32
    }

    func validate() throws {
        if stop && (open || port != nil || json) {
            throw ValidationError("--stop excludes --open, --port and --json")
        }
        if let port, !(1...65_535).contains(port) { throw ValidationError("--port \(port): choose 1 to 65535") }
    }

    func run() async throws {
        var words: [String] = []
        if stop { words.append("--stop") }
        if open { words.append("--page") }
        if let port { words += ["--port", "\(port)"] }
        let (child, output) = try start(words)
        if stop {
            guard await Spawn.ending(of: child) == 0 else { throw ExitCode(CommandExit.failed) }
            return
        }
        guard let started = try? JSONDecoder().decode(Started.self, from: output) else {
            // (It has said why.)
            throw ExitCode(CommandExit.failed)
        }
        if json {
            print(Output.json(Line(address: started.address, pid: started.pid)))
        } else {
            print(started.address)
        }
        if open { try show(started) }
    }

    /// - Returns: the first line that the program prints; it goes on without this command.
    private func start(_ words: [String]) throws -> (child: pid_t, output: Data) {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let path = (own as NSString).deletingLastPathComponent + "/" + Self.program
        guard access(path, X_OK) == 0 else {
            throw fail("\(path): is not there; build or install it: swift build --product \(Self.program)")
        }
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw fail("cannot make a pipe: \(String(cString: strerror(errno)))") }
        let (reading, writing) = (ends[0], ends[1])
        defer { close(reading) }
        _ = fcntl(reading, F_SETFD, FD_CLOEXEC)
        let child: pid_t
        do {
            child = try Spawn.start(
                path, ([Self.program] + words).map { Array($0.utf8) }, as: .ownSession,
                usual: [SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP]
            ) { actions in
                posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
                posix_spawn_file_actions_adddup2(&actions, writing, STDOUT_FILENO)
                if writing > STDERR_FILENO { posix_spawn_file_actions_addclose(&actions, writing) }
            }
        } catch {
            close(writing)
            throw fail("\(path): cannot be started: \(error.reason)")
        }
        close(writing)
        return (child, stop ? Data() : try line(reading))
    }

    private func line(_ reading: Int32) throws -> Data {
        var line = Data()
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while line.last != UInt8(ascii: "\n"), line.count < 1 << 16 {
            var wait = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
            let ready = poll(&wait, 1, Self.patience)
            if ready < 0 && errno == EINTR { continue }
            guard ready > 0 else { throw fail("\(Self.program): says nothing for \(Self.patience / 1_000) s") }
            let count = read(reading, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            line += buffer.prefix(count)
        }
        return line
    }

    /// The file, not the address: everybody on this machine sees the arguments of programs.
    private func show(_ started: Started) throws {
        guard let page = started.page else { return }
        do {
            _ = try Spawn.start(
                "xdg-open", ["xdg-open", page].map { Array($0.utf8) }, as: .ownSession,
                usual: [SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP]
            ) { actions in
                for (file, mode) in [(STDIN_FILENO, O_RDONLY), (STDOUT_FILENO, O_WRONLY), (STDERR_FILENO, O_WRONLY)] {
                    posix_spawn_file_actions_addopen(&actions, file, "/dev/null", mode, 0)
                }
            }
        } catch { throw fail("xdg-open: cannot be started: \(error.reason); open the address above in your browser") }
    }
}

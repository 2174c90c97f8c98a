import ControlAPI
import Foundation
import Surroundings

/// The program `hydrant-web`: serves the page, or tells where a program of the same user serves it already. It prints a line
/// of JSON and then goes on without its terminal.
package struct WebProgram {
    package struct Failure: Error {
        /// For people.
        package let message: String
    }

    /// As `hydrant web` reads it.
    private struct Line: Encodable {
        var address: String
        var pid: Int32
        /// A file that leads a browser to the address; nil: not asked for.
        var page: String?
    }

    private struct Running: Codable {
        var pid: Int32
        var port: Int
    }

    private let wantedPort: Int
    private let wantsPage: Bool
    private let stops: Bool
    private let folder: String
    private var record: String { folder + "/address.json" }
    /// Without a request for so long, it ends; in seconds.
    private static let idle = 43_200.0

    /// - Parameter arguments: `--port N`, `--page` (write the file for a browser), `--stop`.
    package init(_ arguments: [String]) throws {
        var (port, page, stops) = (0, false, false)
        var rest = arguments[...]
        while let word = rest.popFirst() {
            switch word {
            case "--page": page = true
            case "--stop": stops = true
            case "--port":
                guard let text = rest.popFirst(), let number = Int(text), (1...65_535).contains(number) else {
                    throw Failure(message: "--port: choose 1 to 65535")
                }
                port = number
            default: throw Failure(message: "“\(word)”: unknown; this program is started by: hydrant web")
            }
        }
        (wantedPort, wantsPage, self.stops) = (port, page, stops)
        folder = try SocketDirectory.path() + "/web"
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw Failure(message: "\(folder): cannot be made: \(String(cString: strerror(errno)))")
        }
    }

    /// - Returns: when the server has ended, or at once when another one runs.
    package func run() async throws {
        let lock = open(folder + "/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else {
            throw Failure(message: "\(folder)/lock: \(String(cString: strerror(errno)))")
        }
        defer { close(lock) }
        // (The kernel releases the lock when the program that serves has ended, however that was.)
        let isFirst = flock(lock, LOCK_EX | LOCK_NB) == 0
        if stops { return isFirst ? () : try await stop(lock) }
        if isFirst { try await serve() } else { try say(try await other()) }
    }

    // MARK: Another one

    private func other() async throws -> Running {
        // It may be about to start.
        for _ in 0..<100 {
            if let data = FileManager.default.contents(atPath: record),
                let running = try? JSONDecoder().decode(Running.self, from: data), kill(running.pid, 0) == 0
            {
                guard wantedPort == 0 || wantedPort == running.port else {
                    throw Failure(
                        message:
                            "the page is served on port \(running.port) already; end that first: hydrant web --stop")
                }
                return running
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw Failure(message: "another hydrant web is there, but does not answer; end it: hydrant web --stop")
    }

    private func stop(_ lock: Int32) async throws {
        let running = try await other()
        kill(running.pid, SIGTERM)
        for _ in 0..<200 {
            if flock(lock, LOCK_EX | LOCK_NB) == 0 { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw Failure(message: "process \(running.pid), which serves the page, does not end")
    }

    // MARK: Serving

    private func serve() async throws {
        unlink(record)
        let server: WebServer
        do {
            server = try await WebServer(port: wantedPort, codes: PageCodes(folder: folder)) {
                MountTable.ownDomains().map(\.mountPoint)
            }
        } catch { throw Failure(message: "cannot listen on port \(wantedPort): \(error)") }
        let running = Running(pid: getpid(), port: server.port)
        try SmallFile.replace(record, with: try JSONEncoder().encode(running), isDurable: false)
        defer { unlink(record) }
        let ends = Self.signals()
        try say(running)
        leaveTerminal()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await server.run() }
            group.addTask { for await _ in ends { return } }
            group.addTask {
                // (Without the record, as when the session's folder is gone, nobody finds this server any more.)
                while !Task.isCancelled, server.lastUse.duration(to: .now) < .seconds(Self.idle),
                    access(record, F_OK) == 0
                {
                    try? await Task.sleep(for: .seconds(60))
                }
            }
            await group.next()
            group.cancelAll()
        }
    }

    private static func signals() -> AsyncStream<Void> {
        AsyncStream { continuation in
            for number in [SIGTERM, SIGINT, SIGHUP] {
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number)
                // (It keeps itself, until the program ends.)
                source.setEventHandler { [source] in
                    _ = source
                    continuation.yield()
                }
                source.resume()
            }
        }
    }

    private func say(_ running: Running) throws {
        let code = try PageCodes(folder: folder).make()
        let address = "http://127.0.0.1:\(running.port)/#code=\(code)"
        var page: String?
        if wantsPage {
            // Everybody on this machine sees the arguments of programs, so a browser gets the name of this file.
            let file = folder + "/open.html"
            let text = """
                <!doctype html><meta charset="utf-8"><title>Hydrant</title>
                <meta http-equiv="refresh" content="0; url=\(address)"><a href="\(address)">Hydrant</a>

                """
            try SmallFile.replace(file, with: Array(text.utf8), isDurable: false)
            page = file
        }
        let line = try Answer.encode(Line(address: address, pid: running.pid, page: page))
        guard (line + [10]).withUnsafeBytes({ SmallFile.writeAll($0, to: STDOUT_FILENO) }) else {
            throw Failure(message: "cannot print: \(String(cString: strerror(errno)))")
        }
    }

    /// Neither a terminal nor a folder stays in use.
    private func leaveTerminal() {
        let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
        if nothing >= 0 {
            for file in 0...2 as ClosedRange<Int32> { dup2(nothing, file) }
            close(nothing)
        }
        chdir("/")
    }
}

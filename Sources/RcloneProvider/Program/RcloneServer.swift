import CLinux
import FileProvider
import Foundation
import Logging
import Surroundings
import Synchronization

/// `rclone rcd` on a Unix socket of its own, in a private folder: a child of this process, which the kernel kills with
/// it. A thread waits for its end and starts it again, after a pause that grows.
final class RcloneServer: Sendable {
    fileprivate enum State {
        case idle
        /// Nil: between two starts.
        case supervised(pid_t?)
        case ended
    }

    let program: RcloneProgram
    /// The path of the socket.
    let socket: String
    private let folder: String
    private let logger: Logger
    private let state = Mutex(State.idle)
    private let lastLine = Mutex("")
    /// Counts starts: a configuration that was unlocked is locked again in a new process.
    private let starts = Atomic(0)
    private let wake = DispatchSemaphore(value: 0)

    private static let firstPause = 0.1
    private static let longestPause = 30.0
    /// In seconds: after a life as long, the pauses begin anew.
    private static let longLife = 60.0
    /// In bytes: what its output is read in.
    private static let piece = 4_096

    /// - Throws: when there is no place for the socket.
    init(_ program: RcloneProgram, logger: Logger) throws(FileProviderError) {
        self.program = program
        self.logger = logger
        let base = BaseDirectory.runtime(in: program.environment) ?? "/tmp"
        folder = try PrivateFolder.make(in: base, "hydrant-rclone-")
        socket = folder + "/socket"
        // (sockaddr_un has room for 107 bytes.)
        guard socket.utf8.count <= 107 else {
            rmdir(folder)
            throw FileProviderError(
                .cannotSynchronize, "\(socket): is too long for a socket; set XDG_RUNTIME_DIR to a shorter path")
        }
    }

    deinit { stop() }

    /// Starts it, if it does not run yet. Does not wait for it.
    func start() {
        let isFirst = state.withLock { state in
            guard case .idle = state else { return false }
            state = .supervised(nil)
            return true
        }
        guard isFirst else { return }
        let thread = Thread { [weak self, wake, folder] in
            Self.supervise({ self }, wake)
            // (Again: it may have made its socket while it was being ended.)
            unlink(folder + "/socket")
            rmdir(folder)
        }
        thread.name = "rclone"
        thread.start()
    }

    /// Its number; nil: it does not run at present.
    var pid: pid_t? {
        state.withLock { if case .supervised(let pid) = $0 { pid } else { nil } }
    }

    /// How often it was started.
    var generation: Int { starts.load(ordering: .relaxed) }

    /// The last line that it printed, for people.
    var complaint: String? {
        let line = lastLine.withLock { $0 }
        return line.isEmpty ? nil : line
    }

    /// Ends it for good; returns at once.
    func stop() {
        let wasRunning = state.withLock { state in
            if case .supervised(let pid) = state, let pid { kill(pid, SIGKILL) }
            defer { state = .ended }
            if case .ended = state { return false }
            return true
        }
        guard wasRunning else { return }
        wake.signal()
        unlink(socket)
        rmdir(folder)
    }

    // MARK: The thread

    /// - Parameter server: nil when nobody has it any more.
    private static func supervise(_ server: () -> RcloneServer?, _ wake: DispatchSemaphore) {
        var pause = firstPause
        while let (child, output) = server()?.launch() {
            let start = ContinuousClock.now
            if child > 0 {
                read(output) { line in server()?.note(line) }
                var found = siginfo_t()
                while waitid(P_PID, id_t(child), &found, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
                // (Nobody may signal the number once it is free for another process.)
                server()?.state.withLock { if case .supervised = $0 { $0 = .supervised(nil) } }
                while waitpid(child, nil, 0) < 0 && errno == EINTR {}
            }
            if start.duration(to: .now) > .seconds(longLife) { pause = firstPause }
            if wake.wait(timeout: .now() + pause) == .success { return }
            pause = min(pause * 2, longestPause)
        }
    }

    /// Starts it once. Nil: it is not to run any more.
    private func launch() -> (child: pid_t, output: Int32)? {
        var ends: [Int32] = [-1, -1]
        guard clinux_pipe(&ends, O_CLOEXEC) == 0 else { return state.withLock { $0.isEnded } ? nil : (-1, -1) }
        defer { close(ends[1]) }
        let words = program.words(socket: socket).map { strdup($0) } + [nil]
        let variables = program.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in words + variables { free(text) } }
        let child = state.withLock { state -> pid_t? in
            guard !state.isEnded else { return nil }
            unlink(socket)
            let child = clinux_spawn_bound(program.path, words, variables, ends[1])
            state = .supervised(child > 0 ? child : nil)
            return child
        }
        guard let child else {
            close(ends[0])
            return nil
        }
        starts.add(1, ordering: .relaxed)
        if child < 0 {
            close(ends[0])
            note("cannot be started: \(String(cString: strerror(errno)))")
        }
        return (child, ends[0])
    }

    /// Reads its output to the end, which comes when it has ended.
    private static func read(_ output: Int32, _ take: (String) -> Void) {
        defer { close(output) }
        var line: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: piece)
        while true {
            let count = Foundation.read(output, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            for byte in buffer[..<count] {
                if byte == UInt8(ascii: "\n") {
                    take(String(decoding: line, as: UTF8.self))
                    line = []
                } else if line.count < piece {
                    line.append(byte)
                }
            }
        }
        if !line.isEmpty { take(String(decoding: line, as: UTF8.self)) }
    }

    private func note(_ line: String) {
        // It may have the name of a document.
        let shown = ShownText.line(String(line.prefix(300)))
        lastLine.withLock { $0 = shown }
        logger.debug("rclone: \(shown)")
    }
}

extension RcloneServer.State {
    fileprivate var isEnded: Bool { if case .ended = self { true } else { false } }
}

/// Folders for this process alone.
enum PrivateFolder {
    /// A new folder with mode 0700.
    static func make(in base: String, _ beginning: String) throws(FileProviderError) -> String {
        var template = Array("\(base)/\(beginning)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw FileProviderError(
                .cannotSynchronize, "\(base): no folder can be made in it: \(String(cString: strerror(errno)))")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

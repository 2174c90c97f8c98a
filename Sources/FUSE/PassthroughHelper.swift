internal import CFUSE
internal import Glibc
internal import Synchronization

/// A running hydrant-passthrough: it has the right (CAP_SYS_ADMIN) that an ordinary user's process lacks, and registers
/// files for us. It accepts regular files on a disk that we own and have open for reading and writing.
final class PassthroughHelper: Sendable {
    private struct State {
        /// -1: the helper has ended.
        var socket: Int32
        var pid: pid_t
    }

    private let state: Mutex<State>

    /// The time limit for an answer; a user may have stopped the helper (SIGSTOP).
    private static let patience = timeval(tv_sec: 2, tv_usec: 0)

    /// Nil: it cannot be started, or lacks its capability.
    init?(program: String, device: Int32) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return nil }
        var patience = Self.patience
        setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let pid = Self.start(program, standardInput: ends[1])
        Glibc.close(ends[1])
        guard let pid else {
            Glibc.close(ends[0])
            return nil
        }
        state = Mutex(State(socket: ends[0], pid: pid))
        guard ask(HYDRANT_BACKING_START, descriptor: device) == 0 else {
            end()
            return nil
        }
    }

    deinit { end() }

    /// The starting threads have all signals blocked.
    private static func start(_ program: String, standardInput: Int32) -> pid_t? {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, standardInput, STDIN_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var words: [UnsafeMutablePointer<CChar>?] = [strdup(program), nil]
        defer { for word in words { free(word) } }
        var pid = pid_t()
        return posix_spawn(&pid, program, &actions, &attributes, &words, environ) == 0 ? pid : nil
    }

    /// The backing id, or -errno; EPIPE: the helper has ended.
    func open(_ fileDescriptor: Int32) -> Int32 { ask(HYDRANT_BACKING_OPEN, descriptor: fileDescriptor) }

    func close(_ id: Int32) { _ = ask(HYDRANT_BACKING_CLOSE, backing: id) }

    private func ask(_ operation: some BinaryInteger, backing: Int32 = 0, descriptor: Int32 = -1) -> Int32 {
        let request = hydrant_backing_request(operation: UInt32(operation), backing: UInt32(bitPattern: backing))
        // Under the lock, so that each caller gets its own answer.
        return state.withLock { state in
            state.socket < 0 ? -EPIPE : hydrant_ask_helper(state.socket, request, descriptor)
        }
    }

    /// The helper holds the device open; without it the kernel notices our end.
    func end() {
        state.withLock { state in
            guard state.socket >= 0 else { return }
            Glibc.close(state.socket)
            state.socket = -1
            kill(state.pid, SIGKILL)
            var status: Int32 = 0
            while waitpid(state.pid, &status, 0) < 0, errno == EINTR {}
        }
    }
}

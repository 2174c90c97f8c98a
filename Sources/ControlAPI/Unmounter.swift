import CLinux
import Glibc

/// Unmounts a FUSE mount from outside: with umount2(2) for root, with fusermount3(1) for other users.
public enum Unmounter {
    public enum Outcome: Sendable, Equatable {
        case unmounted
        /// EBUSY: programs still use it.
        case busy
        /// Why it is still mounted, for people.
        case failed(String)
    }

    /// - Parameter mountPoint: absolute and free of symbolic links, as in ``MountTable``.
    /// - Parameter lazily: unmount although programs use the mount; they keep what they have open.
    /// - Returns: nil, or why it is still mounted.
    public static func unmount(_ mountPoint: String, lazily: Bool) -> String? {
        switch attempt(mountPoint, lazily: lazily) {
        case .unmounted: nil
        case .busy: "\(mountPoint): programs still use it (an open file, or a working directory); end them"
        case .failed(let why): why
        }
    }

    /// As ``unmount(_:lazily:)``, with the outcome as a value.
    public static func attempt(_ mountPoint: String, lazily: Bool) -> Outcome {
        if geteuid() == 0 {
            if clinux_unmount(mountPoint, lazily ? CLINUX_UNMOUNT_DETACH : 0) == 0 { return .unmounted }
            return errno == EBUSY ? .busy : .failed("\(mountPoint): \(String(cString: strerror(errno)))")
        }
        switch run(["fusermount3", lazily ? "-uz" : "-u", "--", mountPoint]) {
        case 0: return .unmounted
        case nil: return .failed("fusermount3 is missing; install the package fuse3")
        default:
            if MountTable.mount(at: mountPoint) == nil { return .failed("\(mountPoint): nothing is mounted there") }
            return lazily ? .failed("\(mountPoint): fusermount3 could not unmount it; did you mount it?") : .busy
        }
    }

    /// The exit status of a command, with its messages dropped; nil when it could not be started.
    private static func run(_ command: [String]) -> Int32? {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var pid = pid_t()
        guard posix_spawnp(&pid, command[0], &actions, nil, &arguments, environ) == 0 else { return nil }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
        return status & 0x7f == 0 ? (status >> 8) & 0xff : -1
    }
}

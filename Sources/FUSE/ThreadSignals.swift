internal import Glibc

/// The meaning of a thread's pending signals for the request that it waits for, proc(5).
///
/// On a disk, a signal that a program handles does not interrupt open(2) or read(2); "Interrupted system call" is for
/// pipes, sockets and terminals, and few programs expect it of a file. Only a signal that ends the program ends its
/// wait.
enum ThreadSignals: Equatable {
    /// The thread is about to end.
    case end
    /// No signal, or one that it handles, blocks or ignores; or one that stops it, which takes effect after the reply.
    case wait
    /// The kernel does not show them to us: the process is in another pid namespace, or /proc is mounted with hidepid.
    case unknown

    private static let fatalAlways: UInt64 = 1 << UInt64(SIGKILL - 1)
    /// Signals whose default action is nothing, or to stop the process.
    private static let harmless: UInt64 = [
        SIGCHLD, SIGURG, SIGWINCH, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU,
    ].reduce(0) { $0 | 1 << UInt64($1 - 1) }

    /// - Parameter thread: FUSE's number; 0 or less: the kernel itself, or a process outside our namespace.
    static func of(thread: Int32) -> ThreadSignals {
        guard thread > 0 else { return .unknown }
        let file = open("/proc/\(thread)/status", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return .unknown }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 8_192, alignment: 1) { buffer in
            let count = read(file, buffer.baseAddress, buffer.count)
            return count > 0 ? of(status: UnsafeRawBufferPointer(rebasing: buffer[..<count])) : .unknown
        }
    }

    /// From the text of `/proc/THREAD/status`. A signal that kills a process sends SIGKILL to each of its threads,
    /// unless it dumps core: then the original signal shows.
    static func of(status: UnsafeRawBufferPointer) -> ThreadSignals {
        var masks: [Substring: UInt64] = [:]
        for line in String(decoding: status, as: UTF8.self).split(separator: "\n") where line.hasPrefix("S") {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            masks[parts[0]] = UInt64(parts[1].drop { $0 == "\t" || $0 == " " }, radix: 16)
        }
        guard let own = masks["SigPnd"], let shared = masks["ShdPnd"], let blocked = masks["SigBlk"],
            let ignored = masks["SigIgn"], let caught = masks["SigCgt"]
        else { return .unknown }
        let pending = own | shared
        if pending & fatalAlways != 0 { return .end }
        return pending & ~blocked & ~ignored & ~caught & ~harmless != 0 ? .end : .wait
    }
}

import Surroundings

/// Distinguishes a program that closes a file from one that a signal has killed, whose files the kernel closes.
enum DyingProcess {
    /// `PF_SIGNALED` of linux/sched.h: killed by a signal.
    private static let signaled: UInt64 = 0x400

    /// - Parameter thread: the closing thread; 0: unknown.
    static func isKilled(_ thread: Int32) -> Bool {
        // In proc(5), the flags are the ninth field.
        guard thread > 0, let fields = ProcessStatus.fields(of: thread), fields.count > 6, let flags = UInt64(fields[6])
        else { return false }
        return flags & signaled != 0
    }
}

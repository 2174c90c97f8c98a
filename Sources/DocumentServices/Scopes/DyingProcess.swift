import Surroundings

/// Tells whether a file is closed by a program, or by the kernel because a signal has killed the program.
enum DyingProcess {
    /// `PF_SIGNALED` of linux/sched.h: killed by a signal.
    private static let signaled: UInt64 = 0x400

    /// - Parameter thread: who closes it; 0: not known.
    static func isKilled(_ thread: Int32) -> Bool {
        // proc(5): the flags are the ninth field.
        guard thread > 0, let fields = ProcessStatus.fields(of: thread), fields.count > 6, let flags = UInt64(fields[6])
        else { return false }
        return flags & signaled != 0
    }
}

import Glibc

/// Tells whether a file is closed by a program, or by the kernel because a signal has killed the program.
enum DyingProcess {
    /// `PF_SIGNALED` of linux/sched.h: killed by a signal.
    private static let signaled: UInt64 = 0x400

    /// - Parameter thread: who closes it; 0: not known.
    static func isKilled(_ thread: Int32) -> Bool {
        guard thread > 0, let file = fopen("/proc/\(thread)/stat", "re") else { return false }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 1_024)
        let count = fread(&buffer, 1, buffer.count, file)
        let text = String(decoding: buffer.prefix(count), as: UTF8.self)
        // proc(5): the flags are the ninth field; the name before them, in parentheses, may hold anything.
        guard let end = text.lastIndex(of: ")") else { return false }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 6, let flags = UInt64(fields[6]) else { return false }
        return flags & signaled != 0
    }
}

import Foundation

/// The process whose read began a download.
package struct CausingProcess: Sendable, Equatable {
    package var pid: Int32
    /// The command's name, at most 15 bytes; nil when the process was gone before it could be asked for.
    package var name: String?

    package init(pid: Int32, name: String?) {
        self.pid = pid
        self.name = name
    }

    /// Looks in `/proc`, proc(5): a few system calls, so never while a program waits for what is here.
    ///
    /// - Parameter thread: as FUSE gives it: it is a thread's number.
    static func of(thread: Int32) -> CausingProcess? {
        // The kernel itself, or a process that this pid namespace does not show.
        guard thread > 0 else { return nil }
        var pid = thread
        if let status = text("/proc/\(thread)/status"),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("Tgid:") }),
            let group = Int32(line.dropFirst(5).trimmingCharacters(in: .whitespaces))
        {
            pid = group
        }
        let name = text("/proc/\(pid)/comm")?.trimmingCharacters(in: .newlines)
        return CausingProcess(pid: pid, name: name)
    }

    private static func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}

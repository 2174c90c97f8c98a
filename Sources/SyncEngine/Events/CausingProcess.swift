import Surroundings

/// The process whose read began a download.
package struct CausingProcess: Sendable, Equatable {
    package var pid: Int32
    /// The command's name, at most 15 bytes; nil when the process was gone before the look-up.
    package var name: String?

    package init(pid: Int32, name: String?) {
        self.pid = pid
        self.name = name
    }

    /// Looks in `/proc`, proc(5): a few system calls, so never while a program waits for bytes that are here.
    ///
    /// - Parameter thread: the thread's number, as FUSE gives it.
    static func of(thread: Int32) -> CausingProcess? {
        // The kernel itself, or a process that this PID namespace does not show.
        guard thread > 0 else { return nil }
        var pid = thread
        if let group = SystemFile.read("/proc/\(thread)/status").flatMap(group(in:)) { pid = group }
        return CausingProcess(pid: pid, name: ProcessStatus.name(of: pid))
    }

    private static func group(in status: [UInt8]) -> Int32? {
        let lines = status.split(separator: UInt8(ascii: "\n"), maxSplits: 8)
        guard let line = lines.first(where: { $0.starts(with: "Tgid:".utf8) }) else { return nil }
        return Int32(String(decoding: line.drop { !(48...57).contains($0) }, as: UTF8.self))
    }
}

/// The program that waits for bytes.
package enum DownloadReader: Sendable {
    /// A program's reading thread, as FUSE gives it.
    case thread(Int32)
    /// A program that has asked for a whole document.
    case process(CausingProcess)

    /// May look in `/proc`.
    var process: CausingProcess? {
        switch self {
        case .thread(let thread): CausingProcess.of(thread: thread)
        case .process(let process): process
        }
    }
}

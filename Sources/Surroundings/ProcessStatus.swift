/// What /proc/PID/stat says; proc(5).
package enum ProcessStatus {
    /// From `state` (3) on; nil: there is no such process. (The name before it may hold anything.)
    ///
    /// - Parameter pid: of a process, or of a thread.
    package static func fields(of pid: Int32) -> [Substring]? {
        let text = SystemFile.text("/proc/\(pid)/stat")
        guard let end = text.lastIndex(of: ")") else { return nil }
        return text[end...].dropFirst().split(separator: " ")
    }

    /// The command's name, at most 15 bytes, as its program chose it; nil: there is no such process.
    package static func name(of pid: Int32) -> String? {
        SystemFile.read("/proc/\(pid)/comm").map {
            String(decoding: $0.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        }
    }
}

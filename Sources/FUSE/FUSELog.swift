internal import CFUSE
internal import Glibc
internal import Synchronization

/// libfuse explains its refusals only in its log, which is shared by the whole process. A call that needs the
/// explanation for an error captures the log of its own thread; other messages go to standard error, as usual.
enum FUSELog {
    private static let captured = Mutex<[pthread_t: String]>([:])
    private static let install: Void = hydrant_install_log()

    static func capture<Result>(_ body: () -> Result) -> (result: Result, text: String) {
        install
        let thread = pthread_self()
        captured.withLock { $0[thread] = "" }
        let result = body()
        let text = captured.withLock { $0.removeValue(forKey: thread) } ?? ""
        return (result, tidy(text))
    }

    static func line(_ text: UnsafePointer<CChar>) {
        let thread = pthread_self()
        let wasCaptured = captured.withLock { captured in
            guard captured[thread] != nil else { return false }
            captured[thread]! += String(cString: text)
            return true
        }
        if !wasCaptured { _ = write(STDERR_FILENO, text, strlen(text)) }
    }

    /// "fuse: a\nfuse: b\n" → "a; b".
    private static func tidy(_ text: String) -> String {
        text.split(separator: "\n")
            .map { $0.hasPrefix("fuse: ") ? $0.dropFirst(6) : $0 }
            .joined(separator: "; ")
    }
}

@_cdecl("hydrant_fuse_log")
func fuseLogLine(_ level: Int32, _ text: UnsafePointer<CChar>) {
    FUSELog.line(text)
}

/// How a command ends. The one place for exit statuses; `hydrant help` prints them.
package enum CommandExit {
    package static let done: Int32 = 0
    /// An operation failed; a line on standard error says which and why.
    package static let failed: Int32 = 1
    /// No program opens such a document, there is no preview of it, or it cannot be printed.
    package static let nothingToShow: Int32 = 3
    /// Programs use the mount; as umount(8) has it.
    package static let inUse: Int32 = 32
    /// Wrong usage (sysexits.h: EX_USAGE, as ArgumentParser ends).
    package static let usage: Int32 = 64
    /// No daemon answers, or it has ended (EX_UNAVAILABLE).
    package static let unavailable: Int32 = 69
    /// Not done yet; nothing is lost (EX_TEMPFAIL).
    package static let tryAgain: Int32 = 75

    package static let table: [(status: Int32, meaning: String)] = [
        (done, "done"),
        (failed, "an operation failed, with a line that says why"),
        (nothingToShow, "nothing to show: no program opens such a document, or there is no preview of it"),
        (inUse, "programs use the mount (unmount)"),
        (usage, "wrong usage"),
        (unavailable, "nothing is mounted there, or no daemon answers"),
        (tryAgain, "not done yet, try again (changes are still pending)"),
    ]

    package static var help: String {
        "Exit status:\n" + table.map { "  \($0.status)\t\($0.meaning)" }.joined(separator: "\n")
    }
}

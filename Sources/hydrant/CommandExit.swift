/// The exit statuses of all commands; `hydrant help` prints them.
package enum CommandExit {
    package static let done: Int32 = 0
    /// An operation failed; a line on standard error names it and the reason.
    package static let failed: Int32 = 1
    /// No program opens the document, or it has no preview, or it cannot be printed.
    package static let nothingToShow: Int32 = 3
    /// Programs use the mount (the status of umount(8)).
    package static let inUse: Int32 = 32
    /// Wrong usage (EX_USAGE of sysexits.h, as ArgumentParser uses it).
    package static let usage: Int32 = 64
    /// No daemon answers, or it has ended (EX_UNAVAILABLE).
    package static let unavailable: Int32 = 69
    /// Not done yet; nothing is lost (EX_TEMPFAIL).
    package static let tryAgain: Int32 = 75

    package static let table: [(status: Int32, meaning: String)] = [
        (done, "done"),
        (failed, "an operation failed; a line on standard error says why"),
        (nothingToShow, "no program opens the document, or it has no preview, or it cannot be printed"),
        (inUse, "programs use the mount (unmount)"),
        (usage, "wrong usage"),
        (unavailable, "nothing is mounted there, or no daemon answers"),
        (tryAgain, "not done yet: changes are still pending, or the time is up; try again"),
    ]

    package static var help: String {
        "Exit status:\n" + table.map { "  \($0.status)\t\($0.meaning)" }.joined(separator: "\n")
    }
}

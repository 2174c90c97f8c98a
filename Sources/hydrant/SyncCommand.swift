import ArgumentParser
import ControlAPI
import Glibc

struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync", abstract: "Send pending changes now; return when none is left.",
        discussion: """
            Ends with status 75 and a list of the changes that are still pending when the time is up, or at once if \
            the domain is paused.

            Examples:
              hydrant sync
              hydrant sync --timeout 60 ~/Documents
            """)

    @Argument(help: "The mount point; optional when there is only one.", completion: .mountPoints)
    var mountpoint: String?

    @Option(help: "Seconds to wait at most (default: as long as it takes).")
    var timeout: Seconds?

    @Flag(help: "Print an array of objects, one for each change that is still pending: path, what, error, nextTry.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print errors only.")
    var quiet = false

    func run() async throws {
        let mountPoint = try MountedPath.mountPoint(mountpoint)
        let request = ControlRequest.sync(timeoutSeconds: timeout?.value)
        let isShown = !json && !quiet
        let response = isShown ? try await watching(mountPoint, request) : try await ask(mountPoint, request)
        guard case .synced(let pending) = response else { return }
        if json { print(Output.json(pending)) }
        guard !pending.isEmpty else { return }
        if isShown { for change in pending.prefix(100) { print(Output.lines(change)) } }
        var why = ""
        if isReadOnly(mountPoint) {
            why = ": \(mountPoint) is mounted read-only; mount it writable to send them"
        } else if case .settings(let settings) = try await ask(
            mountPoint, .limit(download: .keep, upload: .keep), timeout: 30),
            settings.isPaused
        {
            why = ": \(mountPoint) is paused; send them with hydrant resume"
        }
        throw fail("\(Output.changes(pending.count)) still pending\(why)", CommandExit.tryAgain)
    }

    private func isReadOnly(_ mountPoint: String) -> Bool {
        var statistics = statvfs()
        return statvfs(mountPoint, &statistics) == 0 && statistics.f_flag & UInt(ST_RDONLY) != 0
    }
}

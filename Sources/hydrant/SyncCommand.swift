import ArgumentParser
import ControlAPI
import Glibc

struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync", abstract: "Send what is pending now; returns when nothing is.",
        discussion: """
            Ends with status 75 and a list when the time is up and something is still pending, and at once while the \
            domain is paused.

            Examples:
              hydrant sync
              hydrant sync --timeout 60 ~/Documents
            """)

    @Argument(help: "Where it is mounted; may be left out when there is one mount only.", completion: .mountPoints)
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
            why = ": \(mountPoint) is mounted read-only; they are sent after a mount that is not"
        } else if case .settings(let settings) = try await ask(
            mountPoint, .limit(download: .keep, upload: .keep), timeout: 30),
            settings.isPaused
        {
            why = ": \(mountPoint) is paused; hydrant resume sends what waits"
        }
        throw fail("\(Output.changes(pending.count)) still pending\(why)", CommandExit.tryAgain)
    }

    private func isReadOnly(_ mountPoint: String) -> Bool {
        var statistics = statvfs()
        return statvfs(mountPoint, &statistics) == 0 && statistics.f_flag & UInt(ST_RDONLY) != 0
    }
}

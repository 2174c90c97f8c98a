import ArgumentParser
import ControlAPI

struct RetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Send changes again now that could not be sent.",
        discussion: """
            Without paths, tries all pending changes of every mount. Returns when each has been tried, and lists the \
            changes that the store still refuses, with the reasons.

            Examples:
              hydrant retry
              hydrant retry ~/Documents/report.odt ~/Documents/figures

            Exit status: 0 all changes are in the store; 75 changes are still pending.
            """)

    @Argument(
        help: "Documents or folders in a mount, deleted ones included; default: everything.",
        completion: .file())
    var paths: [String] = []

    @Option(help: "Seconds to wait at most.")
    var timeout = Seconds(30)

    @Flag(help: "Print an array of the changes that are still pending: path, what, error, nextTry, remedy.")
    var json = false

    func run() async throws {
        var groups = try MountedPath.grouped(paths)
        if paths.isEmpty {
            groups = MountTable.ownDomains().map { ($0.mountPoint, []) }
            if groups.isEmpty { throw fail("nothing is mounted", CommandExit.unavailable) }
        }
        var left: [PendingChange] = []
        var failure: ExitCode?
        for group in groups {
            let request = ControlRequest.retry(paths: group.paths, timeoutSeconds: timeout.value)
            do {
                if case .synced(let pending) = try await ask(group.mountPoint, request) { left += pending }
            } catch {
                // The error is on standard error already; try the other mounts.
                failure = error
            }
        }
        if json {
            print(Output.json(left))
        } else {
            for change in left.prefix(100) { print(Output.lines(change)) }
        }
        if !left.isEmpty { throw fail("\(Output.changes(left.count)) still pending", CommandExit.tryAgain) }
        if let failure { throw failure }
    }
}

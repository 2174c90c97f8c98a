import ArgumentParser
import ControlAPI

struct RetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Try changes that could not be sent again, now.",
        discussion: """
            Without paths: all that are pending, of every mount. Returns when each has been tried, and lists what the \
            store still does not take, with the reason.

            Examples:
              hydrant retry
              hydrant retry ~/Documents/report.odt ~/Documents/figures

            Exit status: 0 all of it is in the store; 75 something is still pending.
            """)

    @Argument(
        help: "Documents or folders in a mount, also those that were deleted there; without any: everything.",
        completion: .file())
    var paths: [String] = []

    @Option(help: "Seconds to wait at most.")
    var timeout = Seconds(30)

    @Flag(help: "Print an array of what is still pending: path, what, error, nextTry, remedy.")
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
                // Its line is on standard error; the other mounts have their turn all the same.
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

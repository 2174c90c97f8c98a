import ArgumentParser
import ControlAPI

struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync", abstract: "Send what is pending now; returns when nothing is.",
        discussion: "Ends with status 75 and a list when the time is up and something is still pending.")

    @Argument(help: "Where it is mounted; may be left out when there is one mount only.", completion: .directory)
    var mountpoint: String?

    @Option(help: "Seconds to wait at most (default: as long as it takes).")
    var timeout: Double?

    func run() async throws {
        if let timeout, timeout < 0 { throw ValidationError("a time-out is not negative") }
        let mountPoint = try MountedPath.mountPoint(mountpoint)
        guard case .synced(let pending) = try await ask(mountPoint, .sync(timeoutSeconds: timeout)) else { return }
        guard !pending.isEmpty else { return }
        for change in pending.prefix(100) { print(Output.line(change)) }
        throw fail("\(Output.changes(pending.count)) still pending", CommandExit.tryAgain)
    }
}

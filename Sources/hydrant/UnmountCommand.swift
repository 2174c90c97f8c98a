import ArgumentParser
import ControlAPI
import Foundation

struct UnmountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmount", abstract: "Unmount; returns when the daemon has ended.",
        discussion: "Changes that are still pending are kept and sent after the next mount.")

    @Argument(help: "Where it is mounted.", completion: .directory)
    var mountpoint: String

    func run() async throws {
        let mountPoint = try MountedPath.mountPoint(mountpoint)
        var pid: pid_t?
        var pending: [PendingChange] = []
        // A daemon that does not answer any more must not keep the mount up.
        if let client = try? ControlClient(socketPath: SocketDirectory.socketPath(mountPoint: mountPoint)),
            case .domain(let domain, _)? = try? await client.send(.prepareUnmount, timeout: 10)
        {
            (pid, pending) = (domain.pid, domain.pending)
        }
        if let problem = Unmounter.unmount(mountPoint, lazily: pid == nil) { throw fail(problem) }
        if let pid { try await waitForEnd(of: pid) }
        if !pending.isEmpty {
            print("\(Output.changes(pending.count)) pending; kept and sent after the next mount:")
            for change in pending.prefix(20) { print("  " + Output.line(change)) }
        }
    }

    /// The catalog is closed and the state directory free when the process is gone.
    private func waitForEnd(of pid: pid_t) async throws {
        for _ in 0..<600 {
            if kill(pid, 0) != 0 && errno == ESRCH { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw fail("unmounted, but the daemon (pid \(pid)) has not ended yet", CommandExit.tryAgain)
    }
}

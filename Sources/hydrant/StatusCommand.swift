import ArgumentParser
import ControlAPI

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show what is here, what is pending, and what failed.")

    @Argument(help: "Documents or folders in a mount; without any: every mount.", completion: .file())
    var paths: [String] = []

    @Flag(
        help:
            "Print an array of objects: path, identifier, kind, state, modified, pinned, excluded, size, bytesDownloaded, version, error."
    )
    var json = false

    func run() async throws {
        var failures = 0
        let items = paths.isEmpty ? try await overview(&failures) : try await named()
        if json { Output.json(items) }
        if failures > 0 { throw ExitCode(CommandExit.unavailable) }
    }

    private func named() async throws -> [ItemStatus] {
        var all: [ItemStatus] = []
        for group in try MountedPath.grouped(paths) {
            guard case .items(let items) = try await ask(group.mountPoint, .status(paths: group.paths)) else {
                continue
            }
            all += items
        }
        if !json { for item in all { print(Output.line(item)) } }
        return all
    }

    private func overview(_ failures: inout Int) async throws -> [ItemStatus] {
        var all: [ItemStatus] = []
        let mounts = MountTable.entries().filter { $0.fileSystem == MountTable.hydrantType }
        if mounts.isEmpty && !json { print("nothing is mounted") }
        for mount in mounts {
            guard let answer = try? await ask(mount.mountPoint, .status(paths: []), timeout: 30),
                case .domain(let domain, let items) = answer
            else {
                // Its line is on standard error; the other mounts are shown all the same.
                failures += 1
                continue
            }
            all += items
            guard !json else { continue }
            print(
                "\(domain.mountPoint)  \(domain.provider)  (pid \(domain.pid), passthrough \(domain.passthrough ? "yes" : "no"))"
            )
            print(
                domain.pending.isEmpty
                    ? "  everything is in the store" : "  \(Output.changes(domain.pending.count)) pending:")
            for change in domain.pending.prefix(50) { print("    " + Output.line(change)) }
        }
        return all
    }
}

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
        let items = paths.isEmpty ? try await overview() : try await named()
        if json { Output.json(items) }
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

    private func overview() async throws -> [ItemStatus] {
        var all: [ItemStatus] = []
        let mounts = MountTable.entries().filter { $0.fileSystem == MountTable.hydrantType }
        if mounts.isEmpty && !json { print("nothing is mounted") }
        for mount in mounts {
            guard case .domain(let domain, let items) = try await ask(mount.mountPoint, .status(paths: []), timeout: 30)
            else { continue }
            all += items
            guard !json else { continue }
            print(
                "\(domain.mountPoint)  \(domain.provider)  (pid \(domain.pid), passthrough \(domain.passthrough ? "yes" : "no"))"
            )
            print(
                domain.pending.isEmpty ? "  everything is in the store" : "  \(domain.pending.count) changes pending:")
            for change in domain.pending.prefix(50) { print("    " + Output.line(change)) }
        }
        return all
    }
}

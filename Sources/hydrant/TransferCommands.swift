import ArgumentParser
import ControlAPI

struct EvictCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict", abstract: "Drop the local bytes of documents that are in the store.",
        discussion: "Refused for what has changes that are not in the store yet, and for what a program uses.")

    @Argument(help: "Documents or folders in a mount.", completion: .file())
    var paths: [String]

    func run() async throws { try await transfer(paths, "evicted") { .evict(paths: $0) } }
}

struct DownloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "download", abstract: "Bring documents here, whole; returns when they are.")

    @Argument(help: "Documents or folders in a mount.", completion: .file())
    var paths: [String]

    func run() async throws { try await transfer(paths, "downloaded") { .download(paths: $0) } }
}

/// Runs a request on paths and reports each outcome; what failed for one does not keep the others.
private func transfer(_ paths: [String], _ done: String, _ request: ([PathBytes]) -> ControlRequest) async throws {
    guard !paths.isEmpty else { throw ValidationError("name at least one path") }
    var failures = 0
    for group in try MountedPath.grouped(paths) {
        guard case .outcomes(let outcomes) = try await ask(group.mountPoint, request(group.paths)) else { continue }
        for outcome in outcomes {
            if let error = outcome.error {
                _ = fail(error)
                failures += 1
            } else {
                print("\(group.mountPoint)/\(outcome.path): \(Output.bytes(outcome.bytes)) \(done)")
            }
        }
    }
    if failures > 0 { throw ExitCode(CommandExit.failed) }
}

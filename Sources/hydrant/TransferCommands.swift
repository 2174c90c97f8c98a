import ArgumentParser
import ControlAPI

struct EvictCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict", abstract: "Drop the local bytes of documents that are in the store.",
        discussion: """
            Refused for what is pinned, what has changes that are not in the store yet, and what a program uses. Of a \
            folder: all that can be evicted; how much stays, and why, is said.

            Example: hydrant evict ~/Documents/videos
            """)

    @Argument(help: "Documents or folders in a mount.", completion: .file())
    var paths: [String]

    @OptionGroup var output: TransferOutput

    func run() async throws {
        try await transfer(paths, output, { .evict(paths: $0) }) { outcome in
            "\(Output.bytes(outcome.bytes)) evicted" + (outcome.note.map { "; \($0)" } ?? "")
        }
    }
}

struct DownloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "download", abstract: "Bring documents here, whole; returns when they are.",
        discussion: """
            Shows how far it is: a bar on a terminal, a line every few seconds elsewhere. Ctrl-C ends it; what nobody \
            else waits for stops, and what has come stays. Also while the domain is paused.

            Example: hydrant download ~/Documents/manuals
            """)

    @Argument(help: "Documents or folders in a mount.", completion: .file())
    var paths: [String]

    @OptionGroup var output: TransferOutput

    func run() async throws {
        try await transfer(paths, output, reports: true, { .download(paths: $0) }) {
            "\(Output.bytes($0.bytes)) downloaded"
        }
    }
}

/// What commands on paths print.
struct TransferOutput: ParsableArguments {
    @Flag(help: "Print an array of objects: path, bytes, error, note.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print errors only.")
    var quiet = false

    func validate() throws {
        if json && quiet { throw ValidationError("--json or --quiet, not both") }
    }
}

/// What became of a path, for programs: every key is always there.
private struct Outcome: Encodable {
    var path: String
    var outcome: PathOutcome

    private enum CodingKeys: String, CodingKey { case path, bytes, error, note }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(path, forKey: .path)
        try container.encode(outcome.bytes, forKey: .bytes)
        try container.encode(outcome.error, forKey: .error)
        try container.encode(outcome.note, forKey: .note)
    }
}

/// Runs a request on paths and reports each outcome; what failed for one does not keep the others.
///
/// - Parameter reports: the request takes long enough to show how far it is.
func transfer(
    _ paths: [String], _ output: TransferOutput, reports: Bool = false,
    _ request: ([PathBytes]) -> ControlRequest, _ say: (PathOutcome) -> String
) async throws {
    guard !paths.isEmpty else { throw ValidationError("name at least one path") }
    var failures = 0
    var all: [Outcome] = []
    for group in try MountedPath.grouped(paths) {
        let asked = request(group.paths)
        let isShown = reports && !output.json && !output.quiet
        let response = isShown ? try await watching(group.mountPoint, asked) : try await ask(group.mountPoint, asked)
        guard case .outcomes(let outcomes) = response else { continue }
        for outcome in outcomes {
            let path = outcome.path.bytes.isEmpty ? group.mountPoint : "\(group.mountPoint)/\(outcome.path)"
            all.append(Outcome(path: path, outcome: outcome))
            if outcome.error != nil { failures += 1 }
            if output.json { continue }
            if let error = outcome.error {
                _ = fail(error)
            } else if !output.quiet {
                print("\(path): \(say(outcome))")
            }
        }
    }
    if output.json { print(Output.json(all)) }
    if failures > 0 { throw ExitCode(CommandExit.failed) }
}

/// Asks, and shows how far it is until the answer comes.
func watching(_ mountPoint: String, _ request: ControlRequest) async throws(ExitCode) -> ControlResponse {
    let display = ProgressDisplay()
    return try await follow(mountPoint, .reporting(request), ended: { display.clear() }) { news in
        if case .progress(let progress) = news { display.show(progress) }
    }
}

import ArgumentParser
import ControlAPI

struct EvictCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict", abstract: "Remove the local bytes of documents that are in the store.",
        discussion: """
            A document is refused if it is pinned, has changes that are not in the store yet, or is in use by a \
            program. In a folder, evicts every document that it can, and prints how many stay, and why.

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
        commandName: "download", abstract: "Download whole documents; return when they are here.",
        discussion: """
            Shows the progress: a bar on a terminal, a line every few seconds elsewhere. Ctrl-C ends it: downloads \
            that nobody else waits for stop, and the bytes that have arrived stay. Works while the domain is paused.

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

/// The output options of commands on paths.
struct TransferOutput: ParsableArguments {
    @Flag(help: "Print an array of objects: path, bytes, error, note.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print errors only.")
    var quiet = false

    func validate() throws {
        if json && quiet { throw ValidationError("--json and --quiet exclude each other") }
    }
}

/// The outcome for a path, for programs: every key is always there.
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

/// Runs a request on paths and reports each outcome; a failed path does not stop the others.
///
/// - Parameter reports: show the progress, because the request may take long.
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

/// Sends a request, and shows its progress until the answer comes.
func watching(_ mountPoint: String, _ request: ControlRequest) async throws(ExitCode) -> ControlResponse {
    let display = ProgressDisplay()
    return try await follow(mountPoint, .reporting(request), ended: { display.clear() }) { news in
        if case .progress(let progress) = news { display.show(progress) }
    }
}

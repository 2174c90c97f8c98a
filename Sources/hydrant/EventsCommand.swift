import ArgumentParser
import ControlAPI
import Foundation

struct EventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events", abstract: "Show the events of a mount as they happen, until interrupted.",
        discussion: """
            An event is a finished call of a hook of the provider (providePlaceholder, enumerateItems, \
            startProvidingItem, itemChanged, createItem, moveItem, deleteItem, updateMetadata, stopProvidingItem, \
            setFavorite, shareLink, endSharedLink, restoreTrashedItem and others); or conflict, evicted, refused (a \
            program that may not download opened a document that is not here), remoteChange, deletionsHeld, \
            deletionsReleased, error, online, offline. The daemon keeps the last 1,000. A slow reader slows nobody \
            down: Hydrant skips events, and says how many (lost).

            Examples:
              hydrant events
              hydrant events --last 50 --no-follow
              hydrant events --json | jq -r 'select(.event == "startProvidingItem") | .process.name + " " + .path'
            """)

    @Argument(help: "The mount point; optional when there is only one.", completion: .mountPoints)
    var mountpoint: String?

    @Option(help: ArgumentHelp("Past events to begin with.", valueName: "count"))
    var last: Int = 0

    @Flag(inversion: .prefixedNo, help: "Go on with new events.")
    var follow = true

    @Flag(
        help:
            "Print an object a line: time (ISO 8601, UTC), event, path, identifier, bytes, durationMs, process (pid, name), code, message, count; every key is always there."
    )
    var json = false

    func validate() throws {
        if last < 0 { throw ValidationError("--last \(last): choose 0 or more") }
        if !follow && last == 0 { throw ValidationError("--no-follow needs --last") }
    }

    func run() async throws {
        let mountPoint = try MountedPath.mountPoint(mountpoint)
        let request = ControlRequest.events(last: last, follows: follow)
        do {
            let client = ControlClient(socketPath: try SocketDirectory.socketPath(mountPoint: mountPoint))
            let response = try await client.follow(request) { news in
                guard case .events(let events) = news else { return }
                for event in events {
                    try json
                        ? StandardOutput.write(Output.json(event, oneLine: true)) : StandardOutput.write([line(event)])
                }
            }
            if case .failure(let failure) = response { throw fail(failure.message) }
        } catch let error as ControlError {
            // The stream ends when the daemon is gone.
            throw fail("\(mountPoint): \(error)", CommandExit.unavailable)
        }
    }

    private func line(_ event: EventRecord) -> String {
        var line = "\(event.time)  \(event.event.padding(toLength: 20, withPad: " ", startingAt: 0))"
        // An error's message names the file already.
        if event.event != "error", let path = event.path { line += path }
        var facts: [String] = []
        if let bytes = event.bytes { facts.append(Output.bytes(bytes)) }
        if let duration = event.durationMs { facts.append(String(format: "%.1f ms", duration)) }
        if let process = event.process { facts.append("for \(process.name ?? "?") (\(process.pid))") }
        if !facts.isEmpty { line += "  \(facts.joined(separator: ", "))" }
        if let message = event.message {
            line += event.event == "error" ? message : (event.path == nil ? message : "  \(message)")
        }
        return line
    }
}

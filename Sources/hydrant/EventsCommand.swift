import ArgumentParser
import ControlAPI
import Foundation

struct EventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events", abstract: "Show what happens in a mount, as it happens, until interrupted.",
        discussion: """
            An event is a hook of the provider's, by its name (providePlaceholder, enumerateItems, startProvidingItem, \
            itemChanged, createItem, moveItem, deleteItem, updateMetadata, stopProvidingItem), told when it is over; or \
            conflict, evicted, refused (a program that may not download opened what is not here), remoteChange, deletionsHeld, deletionsReleased, error, online, offline. The daemon keeps the last 1,000. Who reads too \
            slowly is told how many were lost (lost), and slows nobody down.

            Examples:
              hydrant events
              hydrant events --last 50 --no-follow
              hydrant events --json | jq -r 'select(.event == "startProvidingItem") | .process.name + " " + .path'
            """)

    @Argument(help: "Where it is mounted; may be left out when there is one mount only.", completion: .mountPoints)
    var mountpoint: String?

    @Option(help: ArgumentHelp("Begin with the last so many.", valueName: "count"))
    var last: Int = 0

    @Flag(inversion: .prefixedNo, help: "Go on with what happens next.")
    var follow = true

    @Flag(
        help:
            "Print an object a line: time (ISO 8601, UTC), event, path, identifier, bytes, durationMs, process (pid, name), code, message, count; each always there."
    )
    var json = false

    func validate() throws {
        if last < 0 { throw ValidationError("--last is not negative") }
        if !follow && last == 0 { throw ValidationError("--no-follow shows nothing without --last") }
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
            // That it is gone is what ends it.
            throw fail("\(mountPoint): \(error)", CommandExit.unavailable)
        }
    }

    private func line(_ event: EventRecord) -> String {
        var line = "\(event.time)  \(event.event.padding(toLength: 20, withPad: " ", startingAt: 0))"
        // The message of an error names the file.
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

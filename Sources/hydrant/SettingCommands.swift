import ArgumentParser
import ControlAPI
import Daemon

struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Stop uploads, and downloads that nobody waits for, until hydrant resume.",
        discussion: """
            Changes are kept, and sent after hydrant resume; also over an unmount and a restart. What programs read, \
            and what hydrant download brings, comes all the same; so does news of the store.

            Example: hydrant pause ~/Documents
            """)

    @OptionGroup var target: SettingTarget

    func run() async throws { try await target.set(.pause) { _ in "paused; hydrant resume goes on" } }
}

struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Go on with what hydrant pause stopped.",
        discussion: "Example: hydrant resume ~/Documents")

    @OptionGroup var target: SettingTarget

    func run() async throws { try await target.set(.resume) { _ in "goes on" } }
}

struct LimitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit", abstract: "Limit how fast transfers are, or say how fast they may be.",
        discussion: """
            Each limit is for all transfers in that direction together, which share it alike; reads that programs \
            wait for count. Holds at once, until the unmount; hydrant mount --limit-download and --limit-upload set \
            it from the start.

            Examples:
              hydrant limit --download 2M --upload 500K
              hydrant limit --download none
            """)

    @OptionGroup var target: SettingTarget

    @Option(help: ArgumentHelp("2M, 500K, a number of bytes a second, or none.", valueName: "rate"))
    var download: String?

    @Option(help: ArgumentHelp("In the same way.", valueName: "rate"))
    var upload: String?

    func validate() throws { _ = try request() }

    private func request() throws -> ControlRequest {
        .limit(download: try change(download, "--download"), upload: try change(upload, "--upload"))
    }

    private func change(_ text: String?, _ option: String) throws -> LimitChange {
        guard let text else { return .keep }
        do {
            return try DaemonConfiguration.rate(text, of: option).map { .bytesPerSecond($0) } ?? LimitChange.none
        } catch {
            throw ValidationError("\(error)")
        }
    }

    func run() async throws {
        try await target.set(try request()) { Output.limits($0) ?? "no limits" }
    }
}

/// Which mount a setting is for, and how it is said.
struct SettingTarget: ParsableArguments {
    @Argument(help: "Where it is mounted; may be left out when there is one mount only.", completion: .mountPoints)
    var mountpoint: String?

    @Flag(help: "Print an object: paused, downloadLimit, uploadLimit (bytes a second, or null).")
    var json = false

    func set(_ request: ControlRequest, _ say: (DomainSettings) -> String) async throws {
        let mountPoint = try MountedPath.mountPoint(mountpoint)
        guard case .settings(let settings) = try await ask(mountPoint, request, timeout: 30) else { return }
        if json { return print(Output.json(settings)) }
        print("\(mountPoint): \(say(settings))")
    }
}

import ArgumentParser
import ControlAPI
import Daemon

struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Stop uploads, and downloads that nobody waits for, until hydrant resume.",
        discussion: """
            Hydrant keeps changes, and sends them after hydrant resume, also across an unmount and a restart. \
            Programs' reads and hydrant download still download, and the store's changes still arrive.

            Example: hydrant pause ~/Documents
            """)

    @OptionGroup var target: SettingTarget

    func run() async throws { try await target.set(.pause) { _ in "paused until hydrant resume" } }
}

struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resume the transfers that hydrant pause stopped.",
        discussion: "Example: hydrant resume ~/Documents")

    @OptionGroup var target: SettingTarget

    func run() async throws { try await target.set(.resume) { _ in "resumed" } }
}

struct LimitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit", abstract: "Limit the speed of transfers, or print the limits.",
        discussion: """
            All transfers in a direction share its limit equally, programs' reads included. A limit holds from now \
            until the unmount; hydrant mount --limit-download and --limit-upload set it from the start.

            Examples:
              hydrant limit --download 2M --upload 500K
              hydrant limit --download none
            """)

    @OptionGroup var target: SettingTarget

    @Option(help: ArgumentHelp("The limit of downloads: 2M, 500K, bytes a second, or none.", valueName: "rate"))
    var download: String?

    @Option(help: ArgumentHelp("The limit of uploads, in the same form.", valueName: "rate"))
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

/// The mount that a setting is for, and the form of the output.
struct SettingTarget: ParsableArguments {
    @Argument(help: "The mount point; optional when there is only one.", completion: .mountPoints)
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

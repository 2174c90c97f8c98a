import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import Logging

struct MountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mount",
        abstract: "Mount a store; returns when the mount answers.",
        discussion: """
            hydrant mount dir:/srv/documents ~/Documents
            """)

    @Argument(help: "What to mount: dir:/STORE, a directory of documents.")
    var store: String

    @Argument(help: "An empty directory.", completion: .directory)
    var mountpoint: String

    @Option(help: "Where the catalog and the downloaded bytes are kept (default: $XDG_DATA_HOME/hydrant/domains/NAME).")
    var stateDir: String?

    @Flag(help: "Stay in the foreground, with the log on standard error.")
    var foreground = false

    @Option(
        name: .customShort("o"), help: "Options of the mount, separated by commas, as for mount(8): allow_other, ro, …")
    var options: [String] = []

    @Option(help: ArgumentHelp("Least severe log level: trace, debug, info, warning, error.", visibility: .hidden))
    var logLevel: String = "info"

    /// How a daemon in the background tells its parent how it went.
    static let readyVariable = "HYDRANT_READY_FD"

    func run() async throws {
        guard foreground else { throw ExitCode(try BackgroundMount(mountPoint: absolute(mountpoint)).run()) }
        var configuration = DaemonConfiguration(store: store, mountPoint: absolute(mountpoint))
        configuration.stateDirectory = stateDir.map(absolute)
        configuration.mountOptions = options
        guard let level = Logger.Level(rawValue: logLevel) else { throw fail("\(logLevel): not a log level", 64) }
        configuration.logLevel = level
        configuration.takeTuning(from: ProcessInfo.processInfo.environment)
        let logger = makeLogger(level)
        let report = ReadyReport()
        do {
            try await Daemon(configuration, logger: logger).run(ready: { report.ready() })
        } catch {
            report.failed("\(error)")
            throw report.isAwaited ? ExitCode(CommandExit.failed) : fail("\(error)")
        }
    }

    private func makeLogger(_ level: Logger.Level) -> Logger {
        var logger = Logger(label: "hydrant") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = level
        return logger
    }

    private func absolute(_ path: String) -> String {
        let full = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        return full.count > 1 && full.hasSuffix("/") ? String(full.dropLast()) : full
    }
}

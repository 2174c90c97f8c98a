import CLinux
import ContentStore
import FileProvider
import Foundation
import Logging

/// A daemon's process: reads the configuration from the command, mounts, reports the result, and serves until the mount
/// ends.
package struct DaemonProcess: Sendable {
    private let registry: ProviderRegistry
    /// The program's name in messages.
    private let program: String
    private let others: (@Sendable (_ scheme: String, ProtocolProgram) -> ProviderRegistration)?

    /// - Parameter others: how stores are served that another program has; nil: not at all.
    package init(
        _ registry: ProviderRegistry, program: String,
        others: (@Sendable (_ scheme: String, ProtocolProgram) -> ProviderRegistration)? = nil
    ) {
        self.registry = registry
        self.program = program
        self.others = others
    }

    /// - Returns: the exit status.
    package func run() async -> Int32 {
        // The command may be gone before the daemon reports.
        signal(SIGPIPE, SIG_IGN)
        clinux_return_memory()
        OpenFileLimit.raise()
        let report = ReadyReport()
        report.endIfAbandoned()
        report.say(.hello)
        do throws(DaemonError) {
            try await serve(report)
            return 0
        } catch {
            if report.isAwaited {
                report.say(.error(error.message))
            } else {
                LogStream().write("hydrant: \(error.message)\n")
            }
            return 1
        }
    }

    private func serve(_ report: ReadyReport) async throws(DaemonError) {
        let configuration: DaemonConfiguration
        do { configuration = try DaemonHandover.take() } catch { throw DaemonError("\(program): \(error.message)") }
        // All paths are absolute from here on: do not keep the file system of the working directory busy.
        if report.isAwaited { chdir("/") }
        let (scheme, _) = try StoreLocation.split(configuration.store)
        let other = configuration.providerProgram.flatMap { others?(scheme, $0) }
        guard let registration = other ?? registry[scheme] else {
            throw DaemonError("\(program): serves \(registry.schemes), not \(scheme):")
        }
        let location = try StoreLocation(
            configuration.store, kind: registration.kind, workingDirectory: configuration.workingDirectory)
        DaemonLog.begin(
            level: configuration.logLevel, secrets: location.secrets, program: program,
            file: configuration.logFile.map { LogFile(path: $0) })
        let made = registration.followed(by: { report.say(.made) })
        do throws(DaemonError) {
            let daemon = Daemon(configuration, location: location, registration: made, logger: Logger(label: "hydrant"))
            try await daemon.run(ready: { report.say(.ready) })
        } catch {
            throw DaemonError(location.secrets.scrubbed(error.message))
        }
    }
}

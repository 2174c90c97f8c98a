package import Daemon
import Foundation
import Logging
import ProcessProvider

extension ProviderRegistration {
    /// A store that a program serves in the provider protocol.
    @Sendable package static func program(scheme: String, _ program: ProtocolProgram) -> ProviderRegistration {
        ProviderRegistration(scheme: scheme, kind: program.locations) { location, _ in
            let command = ProgramCommand(
                words: [program.path], store: "\(location.scheme):\(location.rest)", path: location.path,
                workingDirectory: "/", release: Release.version)
            return try await ProcessProvider.start(command, patience: patience, logger: Logger(label: "hydrant"))
        }
    }

    /// `HYDRANT_PROGRAM_PATIENCE`, for tests, makes all waits for a program shorter or longer by a factor.
    private static var patience: Patience {
        let given = ProcessInfo.processInfo.environment["HYDRANT_PROGRAM_PATIENCE"].flatMap(Double.init)
        guard let given, (0.001...1_000).contains(given) else { return Patience() }
        return Patience().scaled(by: given)
    }
}

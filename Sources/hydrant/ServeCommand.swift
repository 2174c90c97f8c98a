import ArgumentParser
import Daemon
import Stores

/// The daemon that `hydrant mount` starts for a built-in store. Its arguments are only for people who look at
/// processes.
struct ServeCommand: AsyncParsableCommand {
    static let name = "serve"
    static let configuration = CommandConfiguration(
        commandName: name, abstract: "Run the daemon of a mount; started by hydrant mount.", shouldDisplay: false)

    @Argument(parsing: .captureForPassthrough)
    var shown: [String] = []

    func run() async throws {
        guard DaemonHandover.isOffered else { throw fail("serve: only hydrant mount starts it; run hydrant mount", 64) }
        throw ExitCode(
            await DaemonProcess(builtInStores, program: "hydrant", others: ProviderRegistration.program).run())
    }
}

import ArgumentParser
import Daemon
import Stores

/// What `hydrant mount` starts for a store that is built in. Its arguments are only there to be seen.
struct ServeCommand: AsyncParsableCommand {
    static let name = "serve"
    static let configuration = CommandConfiguration(
        commandName: name, abstract: "Be the daemon of a mount; started by hydrant mount.", shouldDisplay: false)

    @Argument(parsing: .captureForPassthrough)
    var shown: [String] = []

    func run() async throws {
        guard DaemonHandover.isOffered else { throw fail("serve is not run by hand; run hydrant mount", 64) }
        throw ExitCode(await DaemonProcess(builtInStores, program: "hydrant").run())
    }
}

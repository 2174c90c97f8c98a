import ChildProcess
import Daemon
import Foundation
import ProcessProvider
import Stores
import Surroundings

/// The program that serves a scheme: `hydrant` itself, or a `hydrant-provider-SCHEME` in `PATH`. Such a program either
/// becomes the daemon (``ProviderMain``), or speaks the provider protocol: then `hydrant` is the daemon and runs it.
struct ProviderProgram {
    let path: String
    /// `argv` of the daemon, for people who look at processes: it holds no secrets, and the daemon reads only the
    /// subcommand.
    let arguments: [String]
    /// The program to be run by the daemon.
    private(set) var spoken: ProtocolProgram?

    init(store: String, mountPoint: String) throws(DaemonError) {
        let (scheme, _) = try StoreLocation.split(store)
        let shown = StoreLocation.shown(store)
        if builtInStores[scheme] != nil {
            path = Self.own
            arguments = ["hydrant", ServeCommand.name, shown, mountPoint]
        } else {
            let name = "hydrant-provider-\(scheme)"
            let found = try Self.find(name, scheme)
            spoken = Self.askKind(found, store)
            path = spoken == nil ? found : Self.own
            arguments = spoken == nil ? [name, shown, mountPoint] : ["hydrant", ServeCommand.name, shown, mountPoint]
        }
    }

    /// The executable's own name, not /proc/self/exe, so that ps shows it.
    private static var own: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "/proc/self/exe"
    }

    /// Runs the program with `--hydrant-protocol` and nothing on its standard input: one that speaks the provider
    /// protocol says hello. Nil: it does not, and is a daemon by itself, or no provider at all.
    private static func askKind(_ path: String, _ store: String) -> ProtocolProgram? {
        let patience = ProcessInfo.processInfo.environment["HYDRANT_START_TIMEOUT"].flatMap(Double.init)
            .flatMap { WaitingTime.isPossible($0) ? $0 : nil }
        let child = ChildProcess([path, ProviderProtocol.argument], limit: .seconds(min(patience ?? 20, 20)))
        guard let end = try? child.run(reading: .standardOutputAlone),
            let hello = ProviderProtocol.hello(in: end.printed)
        else { return nil }
        return ProtocolProgram(path: path, locations: hello.kind ?? .suggested(by: store))
    }

    /// Searches like execvp(3), but never in the working directory.
    private static func find(_ name: String, _ scheme: String) throws(DaemonError) -> String {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin")
            .split(separator: ":").filter { $0.hasPrefix("/") }
        var refused: String?
        for folder in folders {
            let path = "\(folder)/\(name)"
            var status = stat()
            guard stat(path, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFREG, access(path, X_OK) == 0 { return path }
            refused = refused ?? path
        }
        if let refused { throw DaemonError("\(refused): not executable for you (chmod +x?)") }
        throw DaemonError(
            "the scheme \(scheme) is unknown: it is not built in (\(builtInStores.schemes)), and there is no \(name) in PATH "
                + "(\(folders.joined(separator: ":")))")
    }
}

extension Message.Hello {
    fileprivate var kind: StoreLocation.Kind? { locations.flatMap { StoreLocation.Kind(rawValue: $0) } }
}

extension StoreLocation.Kind {
    /// For a program that does not say it.
    fileprivate static func suggested(by store: String) -> Self {
        let rest = store.drop { $0 != ":" }.dropFirst()
        return rest.hasPrefix("//") ? .url : rest.hasPrefix("/") || rest.hasPrefix(".") ? .path : .name
    }
}

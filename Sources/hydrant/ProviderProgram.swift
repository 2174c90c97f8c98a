import Daemon
import Foundation
import Stores

/// The program that serves a scheme: `hydrant` itself, or a `hydrant-provider-SCHEME` in `PATH`.
struct ProviderProgram {
    let path: String
    /// `argv` of the daemon, for people who look at processes: it holds no secrets, and the daemon reads only the
    /// subcommand.
    let arguments: [String]

    init(store: String, mountPoint: String) throws(DaemonError) {
        let (scheme, _) = try StoreLocation.split(store)
        let shown = StoreLocation.shown(store)
        if builtInStores[scheme] != nil {
            // The executable's own name, not /proc/self/exe, so that ps shows it.
            path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "/proc/self/exe"
            arguments = ["hydrant", ServeCommand.name, shown, mountPoint]
        } else {
            let name = "hydrant-provider-\(scheme)"
            path = try Self.find(name, scheme)
            arguments = [name, shown, mountPoint]
        }
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

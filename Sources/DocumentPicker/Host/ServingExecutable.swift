import ControlAPI
import Foundation

/// The executable of the daemon that serves a mount.
enum ServingExecutable {
    static func path(of mountPoint: String) -> String? {
        guard let process = ServingProcess.serving(mountPoint) else { return nil }
        return try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process.pid)/exe")
    }
}

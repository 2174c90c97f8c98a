import CLinux
import Foundation

/// Finds hydrant-passthrough, which registers an ordinary user's files for passthrough.
enum PassthroughProgram {
    private static let name = "hydrant-passthrough"

    /// Returns the installed program: from this program's folder, an absolute folder in `PATH`, or the folder that
    /// packages use. Skips copies without the capability.
    static func find(environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let beside = URL(filePath: own, directoryHint: .notDirectory).deletingLastPathComponent().path
        let named = (environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return ([beside] + named + ["/usr/local/bin", "/usr/bin"]).filter { $0.hasPrefix("/") }.map { "\($0)/\(name)" }
            .first { access($0, X_OK) == 0 && getxattr($0, "security.capability", nil, 0) > 0 }
    }
}

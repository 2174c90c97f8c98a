import Foundation

/// The base directories for a user's files, and for the machine's. A variable that is empty or holds a relative path
/// counts as unset, also HOME.
///
/// Source: XDG Base Directory Specification.
package enum BaseDirectory: String, CaseIterable, Sendable {
    case configuration = "XDG_CONFIG_HOME"
    case data = "XDG_DATA_HOME"
    case state = "XDG_STATE_HOME"
    case cache = "XDG_CACHE_HOME"

    private var inHome: String {
        switch self {
        case .configuration: ".config"
        case .data: ".local/share"
        case .state: ".local/state"
        case .cache: ".cache"
        }
    }

    /// Nil: neither this variable nor HOME has a path. There is no fallback to a folder that all users may write to.
    package func path(in environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        Self.folder(environment, rawValue) ?? Self.folder(environment, "HOME").map { "\($0)/\(inHome)" }
    }

    /// For messages.
    package var missing: String { "neither \(rawValue) nor HOME is set to an absolute path" }

    /// The folder for sockets; nil: not set.
    package static func runtime(in environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
        folder(environment, "XDG_RUNTIME_DIR")
    }

    /// Folders of shared data: the user's own, then the machine's; the first match wins.
    package static func shared(in environment: [String: String] = ProcessInfo.processInfo.environment) -> [String] {
        let named = (environment["XDG_DATA_DIRS"] ?? "").split(separator: ":").map(String.init).filter(isAbsolute)
        return [data.path(in: environment)].compactMap { $0 }
            + (named.isEmpty ? ["/usr/local/share", "/usr/share"] : named)
    }

    /// The shared folder of a document group; nil: the name is invalid, or there is no base directory.
    package static func group(
        _ name: String, in environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> String? {
        guard !name.isEmpty, name.utf8.count <= 255, !name.hasPrefix("."), !name.contains("/"), !name.contains("\0")
        else { return nil }
        return data.path(in: environment).map { "\($0)/hydrant/groups/\(name)" }
    }

    private static func folder(_ environment: [String: String], _ variable: String) -> String? {
        environment[variable].flatMap { isAbsolute($0) ? $0 : nil }
    }

    private static func isAbsolute(_ path: String) -> Bool { path.hasPrefix("/") }
}

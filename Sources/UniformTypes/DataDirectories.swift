import Foundation

/// Where the machine and its user keep what programs share.
///
/// Source: XDG Base Directory Specification.
package enum DataDirectories {
    /// The user's own.
    package static var user: String {
        let environment = ProcessInfo.processInfo.environment
        if let folder = environment["XDG_DATA_HOME"], folder.hasPrefix("/") { return folder }
        return (environment["HOME"] ?? "") + "/.local/share"
    }

    /// The user's own, then the machine's: the first wins.
    package static var all: [String] {
        let shared = ProcessInfo.processInfo.environment["XDG_DATA_DIRS"].flatMap { $0.isEmpty ? nil : $0 }
        return [user]
            + (shared ?? "/usr/local/share:/usr/share").split(separator: ":").map(String.init)
            .filter { $0.hasPrefix("/") }
    }
}

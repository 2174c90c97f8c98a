import Foundation
import Surroundings

/// The folder of a temporary copy that belongs to a process: `PID.START.UUID` below `$XDG_RUNTIME_DIR/hydrant/imports`.
package struct ImportFolder: Sendable {
    package let name: String
    private let pid: Int32
    private let started: String

    /// The folder for a running process; nil: the process has ended.
    package init?(for pid: Int32) {
        guard let fields = ProcessStatus.fields(of: pid), fields.count > 19 else { return nil }
        self.pid = pid
        started = String(fields[19])
        name = "\(pid).\(started).\(UUID().uuidString)"
    }

    /// Nil: the name does not have this form.
    package init?(name: String) {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let pid = Int32(parts[0]), pid > 0, UInt64(parts[1]) != nil,
            UUID(uuidString: String(parts[2])) != nil
        else { return nil }
        self.name = name
        self.pid = pid
        started = String(parts[1])
    }

    package static func parent() throws(ControlError) -> String { try SocketDirectory.path() + "/imports" }

    /// Whether the folder's process still runs. (The start time tells a reused pid.)
    package var isAlive: Bool {
        guard let fields = ProcessStatus.fields(of: pid), fields.count > 19, fields[19] == started else { return false }
        return fields[0] != "Z" && fields[0] != "X"
    }
}

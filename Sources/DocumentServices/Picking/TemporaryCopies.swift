import ControlAPI
import Foundation

/// Copies of documents that programs were given: below `$XDG_RUNTIME_DIR/hydrant/imports`, each in a folder that says whose
/// it is, `PID.START.UUID`. They go when that process has ended; those that were left behind, when a daemon starts.
package enum TemporaryCopies {
    /// Removes a folder when its process has ended; this returns at once.
    package static func keep(_ name: String) throws {
        guard let owner = ImportFolder(name: name) else {
            throw ControlFailure(code: "badImport", message: "“\(name)” is no folder of a temporary copy")
        }
        let folder = try ImportFolder.parent() + "/" + name
        Task {
            while owner.isAlive { try await Task.sleep(for: .milliseconds(200)) }
            try? FileManager.default.removeItem(atPath: folder)
        }
    }

    /// What nobody has any more; the rest is looked after from now on.
    package static func sweep() {
        guard let parent = try? ImportFolder.parent() else { return }
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] {
            guard let owner = ImportFolder(name: name) else { continue }
            if owner.isAlive {
                try? keep(name)
            } else {
                try? FileManager.default.removeItem(atPath: parent + "/" + name)
            }
        }
    }
}

import ControlAPI
import Foundation

/// Copies of documents for programs: below `$XDG_RUNTIME_DIR/hydrant/imports`, each in a folder `PID.START.UUID` that
/// names the owning process. A copy is removed when its process has ended, or when a daemon starts after that.
package enum TemporaryCopies {
    /// Removes a folder when its process has ended; returns at once.
    package static func keep(_ name: String) throws {
        guard let owner = ImportFolder(name: name) else {
            throw ControlFailure(code: "badImport", message: "“\(name)” is not the folder of a temporary copy")
        }
        let folder = try ImportFolder.parent() + "/" + name
        Task {
            while owner.isAlive { try await Task.sleep(for: .milliseconds(200)) }
            try? FileManager.default.removeItem(atPath: folder)
        }
    }

    /// Removes copies whose process has ended, and watches the others from now on.
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

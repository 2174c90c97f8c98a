import Glibc
import Surroundings

/// Files that go as soon as their removal is durable: until then they are in `removed/`, where no other code takes them
/// for changes. If a catalog needs one again after a power loss, the file comes back.
extension ContentStore {
    static let removed = "removed"

    private func removedPath(_ id: GenerationID) -> String { "\(directory)/\(Self.removed)/\(id)" }

    /// Moves a file out of the storage. ``restoreSetAside(_:)`` restores it if the catalog turns out to need it.
    package func setAside(_ id: GenerationID) {
        if Glibc.rename(path(id), removedPath(id)) == 0 { forget(id) } else { remove(id) }
    }

    /// Removes a file that was set aside.
    package func removeSetAside(_ id: GenerationID) { Glibc.unlink(removedPath(id)) }

    /// At the start: restores files set aside that the catalog still names, and removes the others.
    ///
    /// - Parameter isCurrent: whether the catalog names it.
    package func restoreSetAside(_ isCurrent: (GenerationID) throws -> Bool) rethrows {
        for name in SystemFile.names(in: "\(directory)/\(Self.removed)") ?? [] {
            let file = "\(directory)/\(Self.removed)/\(name)"
            // link(2) replaces nothing: a file in the storage stays.
            if let id = GenerationID(name: name), try isCurrent(id) {
                guard Glibc.link(file, path(id)) == 0 || errno == EEXIST else { continue }
            }
            Glibc.unlink(file)
        }
    }
}

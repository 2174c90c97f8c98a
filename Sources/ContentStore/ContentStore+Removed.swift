import Glibc

/// Files that go as soon as it is durable that nobody needs them: until then they lie in `removed/`, where nobody takes
/// them for somebody's changes. After a power loss a catalog that knows one of them again gets it back.
extension ContentStore {
    static let removed = "removed"

    private func removedPath(_ id: GenerationID) -> String { "\(directory)/\(Self.removed)/\(id)" }

    /// Takes a file out of the storage. It is there again if the catalog turns out to need it (``bringBack(_:)``).
    package func setAside(_ id: GenerationID) {
        if Glibc.rename(path(id), removedPath(id)) == 0 { forget(id) } else { remove(id) }
    }

    /// The end of what was set aside.
    package func removeSetAside(_ id: GenerationID) { Glibc.unlink(removedPath(id)) }

    /// At the start: what was set aside and the catalog still names is put back, the rest goes.
    ///
    /// - Parameter isCurrent: whether the catalog names it.
    package func bringBack(_ isCurrent: (GenerationID) throws -> Bool) rethrows {
        for name in ContentInventory.names(in: "\(directory)/\(Self.removed)") {
            let file = "\(directory)/\(Self.removed)/\(name)"
            // link(2), which replaces nothing: if there is one in the storage, it is that.
            if let id = GenerationID(name: name), try isCurrent(id) {
                guard Glibc.link(file, path(id)) == 0 || errno == EEXIST else { continue }
            }
            Glibc.unlink(file)
        }
    }
}

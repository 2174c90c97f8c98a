import FileProvider
import Glibc

/// Finds the file of an identifier.
extension Store {
    /// The item, if it is at its last place, or elsewhere in the same folder. Nil: a walk is needed.
    func find(_ identifier: ItemIdentifier, depth: Int = 0) throws(FileProviderError) -> Entry? {
        guard let (folder, name) = try place(of: identifier, depth: depth) else { return nil }
        if let entry = try lookUp(name, in: folder), entry.identifier == identifier { return entry }
        // A path has only one place.
        if Identity.components(of: identifier) != nil { return nil }
        do throws(FileProviderError) {
            for name in try folder.names() {
                if let entry = try lookUp(name, in: folder), entry.identifier == identifier { return entry }
            }
        } catch {
            if !error.saysAbsent { throw error }
        }
        return nil
    }

    /// The folder, opened, if it is at its last place.
    func findFolder(_ identifier: ItemIdentifier, depth: Int = 0) throws(FileProviderError) -> Folder? {
        if identifier == .rootContainer { return root }
        guard let entry = try find(identifier, depth: depth) else { return nil }
        guard entry.status.kind == .folder else {
            throw FileProviderError(.cannotSynchronize, "\(entry.path): not a folder")
        }
        let folder = try open(entry.name, in: entry.folder)
        return folder?.identifier == identifier ? folder : nil
    }

    private func place(
        of identifier: ItemIdentifier, depth: Int
    ) throws(FileProviderError) -> (Folder, [UInt8])? {
        if let components = Identity.components(of: identifier), let name = components.last {
            return try open(Array(components.dropLast())).map { ($0, name) }
        }
        // Ends a cycle in the index (folders that moved while it was filled).
        guard depth < seams.deepest else {
            throw FileProviderError(.cannotSynchronize, "\(rootPath): folders nested too deep")
        }
        guard let place = index[identifier] else { return nil }
        return try findFolder(place.parent, depth: depth + 1).map { ($0, place.name) }
    }
}

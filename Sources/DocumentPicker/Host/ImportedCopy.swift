import ControlAPI
import Foundation

/// A program's own copy of a document, which is removed when the program ends.
enum ImportedCopy {
    /// - Parameter owner: the process whose end removes the copy.
    static func make(of path: String, for owner: Int32) async throws -> URL {
        guard let folder = ImportFolder(for: owner) else {
            throw DocumentPickerError("the process that the copy is for (\(owner)) has ended")
        }
        let full = try ImportFolder.parent() + "/" + folder.name
        try await onThread {
            try FileManager.default.createDirectory(
                atPath: full, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        do {
            // Before copying, so that the folder is removed whatever happens now.
            try await keep(folder.name)
            let copy = full + "/" + (path as NSString).lastPathComponent
            try await FileCopy.make(copy, from: path)
            return URL(filePath: copy, directoryHint: .notDirectory)
        } catch {
            try? FileManager.default.removeItem(atPath: full)
            throw error
        }
    }

    /// Removes a copy that the program does not get after all.
    static func remove(_ copy: URL) {
        try? FileManager.default.removeItem(
            atPath: (copy.path(percentEncoded: false) as NSString).deletingLastPathComponent)
    }

    /// Has the copy removed later: by a watching process, which needs no daemon, and by every running daemon, which
    /// survives a logout.
    private static func keep(_ folder: String) async throws {
        let isWatched = (try? ImportWatcher.start(folder)) != nil
        let mounts = MountTable.ownDomains().map(\.mountPoint)
        let isKept = await withTaskGroup(of: Bool.self) { group in
            for mountPoint in Set(mounts) {
                group.addTask {
                    guard let client = try? DomainClient(mountPoint) else { return false }
                    return (try? await client.keepImport(folder)) != nil
                }
            }
            return await group.contains(true)
        }
        guard isWatched || isKept else {
            throw DocumentPickerError(
                "nothing can remove the copy when its program has ended: neither a process nor a daemon could be started for it"
            )
        }
    }
}

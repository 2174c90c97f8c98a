import ControlAPI
import Foundation

/// A program's own copy of a document, which goes when the program ends.
enum ImportedCopy {
    /// - Parameters:
    ///   - owner: the process.
    ///   - keeper: the daemon that removes it; nil: any that is there.
    static func make(
        of path: String, for owner: Int32, keeper: DomainClient?, progress: @escaping @Sendable (Int64) -> Bool
    )
        async throws -> URL
    {
        guard let folder = ImportFolder(for: owner) else {
            throw DocumentPickerError("process \(owner), which the copy is for, has ended")
        }
        let parent = try ImportFolder.parent()
        let full = parent + "/" + folder.name
        try await onThread {
            try FileManager.default.createDirectory(
                atPath: full, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        do {
            // First, so that it goes whatever happens now.
            for client in try keeper.map({ [$0] }) ?? anyDomains() {
                do {
                    try await client.keepImport(folder.name)
                    break
                } catch { continue }
            }
            let copy = full + "/" + (path as NSString).lastPathComponent
            try await onThread { try FileCopy.make(copy, from: path, progress: progress) }
            return URL(filePath: copy, directoryHint: .notDirectory)
        } catch {
            try? FileManager.default.removeItem(atPath: full)
            throw error
        }
    }

    private static func anyDomains() throws -> [DomainClient] {
        try MountTable.entries().filter { $0.fileSystem == MountTable.hydrantType }.map {
            try DomainClient($0.mountPoint)
        }
    }
}

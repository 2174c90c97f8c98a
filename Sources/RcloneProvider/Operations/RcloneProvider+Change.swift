package import FileProvider
import Foundation
import Waiting

extension RcloneProvider {
    package func createItem(
        _ template: ItemTemplate, contents: (any ContentSource)?
    ) async throws(FileProviderError) -> Item {
        let isFolder = template.kind.isFolder
        let path = try RclonePath.path(in: template.parentIdentifier, template.filename, isFolder: isFolder)
        if case .symbolicLink = template.kind {
            throw FileProviderError(
                .unsupported, "\(client.describe(path)): rclone keeps no symbolic links; the link stays on this machine"
            )
        }
        return try await alone(path) { () async throws(FileProviderError) -> Item in
            try await self.create(template, path, contents)
        }
    }

    private func create(
        _ template: ItemTemplate, _ path: String, _ contents: (any ContentSource)?
    ) async throws(FileProviderError) -> Item {
        try await checkName(path)
        try await checkFree(path)
        if template.kind.isFolder {
            try await makeFolder(path)
            try await confirmName(path)
            guard let entry = try await folder(path) else { return folderItem(path) }
            return item(path, entry, try await traits())
        }
        let parcel = try await parcel(contents ?? EmptySource(), template.contentModificationDate)
        defer { spool.discard(parcel) }
        let item = try await RcloneUpload(provider: self, path: path, parcel: parcel).create()
        try await confirmName(path)
        return item
    }

    package func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        let path = RclonePath.path(identifier)
        return try await alone(path) { () async throws(FileProviderError) -> Item in
            try await self.change(path, contents, metadata, baseVersion)
        }
    }

    private func change(
        _ path: String, _ contents: any ContentSource, _ metadata: ItemMetadata, _ baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        if try await document(path) == nil { try await restoreAll(of: path) }
        _ = try await expect(path, baseVersion.content)
        let parcel = try await parcel(contents, metadata.contentModificationDate)
        defer { spool.discard(parcel) }
        return try await RcloneUpload(provider: self, path: path, parcel: parcel).replace(baseVersion.content)
    }

    package func deleteItem(
        _ identifier: ItemIdentifier, baseVersion: ItemVersion
    ) async throws(FileProviderError) {
        let path = RclonePath.path(identifier)
        if RclonePath.isFolder(identifier) { return try await deleteFolder(path) }
        let leftovers = try await leftovers(of: path)
        _ = try await expect(path, baseVersion.content)
        // (Before the document: what is left when this is cut off would come back as the document.)
        for aside in leftovers { _ = try await delete(aside) }
        guard try await delete(path) else { throw gone(path) }
        try await keepFolder(RclonePath.folder(of: path))
    }

    /// A file to send, with the checksum by which the store will know it.
    private func parcel(
        _ contents: any ContentSource, _ modified: FileTime
    ) async throws(FileProviderError) -> Spool.Parcel {
        let hash = try await traits().hash
        var parcel = try await spool.parcel(contents, modified: modified, hash: hash)
        guard let hash, parcel.hash == nil else { return parcel }
        // Of a kind that only rclone computes.
        var parameters = RcloneParameters()
        (parameters.fs, parameters.remote, parameters.hashType) = (parcel.folder, parcel.name, hash)
        let answer = try? await client.call("operations/hashsumfile", parameters, on: "", as: RcloneHash.self)
        parcel.hash = answer?.hash?.lowercased()
        return parcel
    }

    // MARK: Names

    /// The folder must be there, and nothing may have the name.
    ///
    /// - Parameter itself: an item that may have the name, where upper and lower case are the same.
    func checkFree(_ path: String, except itself: String? = nil) async throws(FileProviderError) {
        let folder = RclonePath.folder(of: path)
        let name = RclonePath.name(of: path)
        guard let entries = try await list(folder, isQuick: true) else { throw gone(folder) }
        let ignoresCase = try await traits().ignoresCase
        let holder = entries.first { entry in
            if entry.Name.utf8.elementsEqual(name.utf8) { return true }
            // (Swift compares letters, whatever their composition.)
            return ignoresCase && entry.Name.lowercased() == name.lowercased()
        }
        guard let holder else { return }
        let other = folder + holder.Name + (holder.IsDir ? "/" : "")
        if let itself, other.utf8.elementsEqual(itself.utf8) { return }
        if holder.IsDir { throw collision(try await folderAsIs(other)) }
        guard let item = try await document(other) else {
            throw FileProviderError(.filenameCollision, "\(client.describe(other)): the name is taken")
        }
        throw collision(item)
    }

    private func folderAsIs(_ path: String) async throws(FileProviderError) -> Item {
        guard let entry = try await folder(path) else { return folderItem(path) }
        return item(path, entry, try await traits())
    }

    /// WebDAV servers are known that give a document that is moved another name than they are told.
    func checkName(_ path: String) async throws(FileProviderError) {
        let traits = try await traits()
        guard traits.moves, !traits.swaps, traits.precision == nil else { return }
        if RclonePath.name(of: path).utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: ";") }) {
            throw FileProviderError(
                .invalidName,
                "\(client.describe(path)): such stores do not keep names with “?” or “;” safely; rename it")
        }
    }

    /// One change of a path at a time.
    func alone(
        _ path: String, _ body: () async throws(FileProviderError) -> Item
    ) async throws(FileProviderError) -> Item {
        try await turns.during(
            path, orThrow: FileProviderError(.cancelled, "\(client.describe(path)): given up"), body)
    }

    /// A name that does not come back as it was given would be another item in the next listing: a new item with such a
    /// name is removed again.
    func confirmName(_ path: String) async throws(FileProviderError) {
        if try await isListed(path) { return }
        if RclonePath.isFolder(path) {
            _ = try? await remove(folder: path)
        } else {
            _ = try? await delete(path)
        }
        throw changed(path)
    }

    func changed(_ path: String) -> FileProviderError {
        FileProviderError(
            .invalidName, "\(client.describe(path)): the store changes this name into another one; rename it")
    }

    /// Whether listings have an item that is there under this very name.
    func isListed(_ path: String) async throws(FileProviderError) -> Bool {
        let name = RclonePath.name(of: path)
        if Self.isPlain(name), try await !traits().ignoresCase { return true }
        let entries = try await list(RclonePath.folder(of: path), isQuick: true) ?? []
        return entries.contains { $0.Name.utf8.elementsEqual(name.utf8) }
    }

    /// Whether every store keeps the name as it is.
    private static func isPlain(_ name: String) -> Bool {
        guard !name.hasPrefix(" "), !name.hasSuffix(" "), !name.hasSuffix(".") else { return false }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: " ._-()+=,".utf8.contains(byte)
            }
        }
    }

    // MARK: Folders

    func makeFolder(_ path: String) async throws(FileProviderError) {
        let parameters = try await self.parameters(path)
        try await client.call("operations/mkdir", parameters, on: path)
        guard try await !traits().hasEmptyFolders else { return }
        try await put(path + ReservedName.folder)
    }

    /// An empty file of our own.
    func put(_ path: String) async throws(FileProviderError) {
        let parcel = try await spool.parcel(EmptySource(), modified: RcloneDate.none, hash: nil)
        defer { spool.discard(parcel) }
        try await RcloneUpload(provider: self, path: path, parcel: parcel).send(to: path, .replacing)
    }

    /// Where a folder's last item goes, the folder stays.
    func keepFolder(_ path: String) async throws(FileProviderError) {
        guard !path.isEmpty, try await traits().losesEmptyFolders else { return }
        guard try await list(path, isQuick: true)?.isEmpty ?? true else { return }
        try await makeFolder(path)
    }

    private func deleteFolder(_ path: String) async throws(FileProviderError) {
        guard let entries = try await list(path, isQuick: true) else { throw gone(path) }
        // Of ours only what nobody needs: a version that was moved aside comes back as a document. (A move that was given
        // up has left its mark.)
        let ours = entries.filter {
            $0.Name == ReservedName.folder || ReservedName.isDraft($0.Name) || ReservedName.isMove($0.Name)
        }
        guard ours.count == entries.count else {
            throw FileProviderError(
                .directoryNotEmpty, "\(client.describe(path)): is not empty", item: try await folderAsIs(path))
        }
        for entry in ours { _ = try await delete(path + entry.Name) }
        try await remove(folder: path)
        try await keepFolder(RclonePath.folder(of: path))
    }

    func remove(folder path: String) async throws(FileProviderError) {
        let parameters = try await self.parameters(path)
        guard case .failure(let refusal) = try await client.attempt("operations/rmdir", parameters) else { return }
        if refusal.ends(["not empty"]) {
            throw FileProviderError(
                .directoryNotEmpty, "\(client.describe(path)): is not empty", item: folderItem(path))
        }
        // (Without its marker, a folder of such a store is gone by itself.)
        if refusal.isAbsent, try await traits().losesEmptyFolders { return }
        throw refusal.failure(client.describe(path))
    }

    /// - Returns: false when it was gone.
    @discardableResult
    func delete(_ path: String) async throws(FileProviderError) -> Bool {
        let parameters = try await self.parameters(path)
        guard case .failure(let refusal) = try await client.attempt("operations/deletefile", parameters) else {
            return true
        }
        if refusal.isAbsent { return false }
        throw refusal.failure(client.describe(path))
    }
}

struct EmptySource: ContentSource {
    var size: Int64 { 0 }
    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] { [] }
}

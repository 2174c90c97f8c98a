package import FileProvider
import Surroundings

extension S3Provider {
    package func createItem(
        _ template: ItemTemplate, contents: (any ContentSource)?
    ) async throws(FileProviderError) -> Item {
        try checkWritable()
        let path = try S3Key.path(
            in: template.parentIdentifier, template.filename, isFolder: template.kind.isFolder, prefix: address.prefix)
        try await checkPlace(path)
        let traits = try await conditions.traits()
        try check(template.filename, traits)
        if template.kind.isFolder { return try await makeFolder(path, traits) }
        var source: any ContentSource = contents ?? MemorySource([])
        var isLink = false
        if case .symbolicLink(let target) = template.kind {
            source = MemorySource(target)
            isLink = true
        }
        let upload = S3Upload(
            provider: self, path: path, contents: source,
            metadata: S3Metadata(
                modified: template.contentModificationDate, permissions: template.posixPermissions,
                attributes: template.extendedAttributes, isSymbolicLink: isLink),
            headers: S3ObjectHeaders(newDocument: template.filename), condition: .absent, traits: traits)
        switch try await upload.run() {
        case .done(let head): return try await item(asking: path, head)
        case .other(let head?): throw collision(try await item(asking: path, head))
        case .other(nil):
            throw FileProviderError(.cannotSynchronize, "\(client.describe(key(path))): was removed while it was made")
        }
    }

    package func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try checkWritable()
        let path = S3Key.path(identifier)
        let traits = try await conditions.traits()
        // What others keep in the object's metadata stays, as do attributes that the change does not name.
        guard let before = try await client.head(key(path)) else { throw gone(path) }
        let upload = S3Upload(
            provider: self, path: path, contents: contents, metadata: before.metadata.changed(to: metadata),
            headers: before.headers, condition: .tag(before.object.entityTag), traits: traits)
        guard S3Version.content(before.object.entityTag) == baseVersion.content else {
            if try await upload.isThere(before) { return item(path, before) }
            throw mismatch(try await item(asking: path, before))
        }
        switch try await upload.run() {
        case .done(let head): return item(path, head)
        case .other(let head?): throw mismatch(try await item(asking: path, head))
        case .other(nil): throw gone(path)
        }
    }

    func checkWritable() throws(FileProviderError) {
        if isReadOnly {
            throw FileProviderError(
                .readOnly,
                "s3://\(address.bucket): is mounted without a sign-in, and takes no changes; sign in with "
                    + "hydrant login")
        }
    }

    /// Throws for a name that this server would change.
    func check(_ name: Filename, _ traits: S3Traits) throws(FileProviderError) {
        guard !traits.keepsBackslash, name.bytes.contains(UInt8(ascii: "\\")) else { return }
        throw FileProviderError(
            .invalidName, "“\(name)”: this server takes a backslash for a slash; rename it without one")
    }

    /// The folder must be there, and no item of the other kind may have the name: a bucket would take both.
    private func checkPlace(_ path: String) async throws(FileProviderError) {
        let folder = S3Key.folder(of: path)
        async let parent = attempt { () async throws(FileProviderError) -> Bool in try await self.isFolder(folder) }
        async let other = attempt { () async throws(FileProviderError) -> Item? in try await self.otherKind(path) }
        let (isThere, holder) = await (parent, other)
        guard try isThere.get() else { throw gone(folder) }
        if let item = try holder.get() { throw collision(item) }
    }

    private func otherKind(_ path: String) async throws(FileProviderError) -> Item? {
        if S3Key.isFolder(path) {
            let document = S3Key.plain(path)
            guard let head = try await client.head(key(document)) else { return nil }
            return try await item(asking: document, head)
        }
        return try await isFolder(path + "/") ? folderItem(path + "/") : nil
    }

    // MARK: Folders

    /// A folder is an empty object whose key ends with a slash.
    func makeFolder(_ path: String, _ traits: S3Traits) async throws(FileProviderError) -> Item {
        if try await isFolder(path) { throw collision(folderItem(path)) }
        let outcome = try await client.put(
            key(path), .bytes([]), sha256: S3Digests([]).sha256, S3ObjectHeaders.folder,
            condition: traits.keepsAbsent ? .absent : .none)
        if case .refused(let refusal) = outcome {
            // (Made in this moment, by another machine or by this request, whose first answer was lost: the same folder.)
            guard refusal.isMismatch else { throw client.failure(refusal, key(path)) }
        }
        return folderItem(path)
    }

    /// Where a folder's last item goes, the folder stays: it gets a marker.
    func keepFolder(_ path: String) async throws(FileProviderError) {
        if path.isEmpty { return }
        if try await isFolder(path) { return }
        try await mark(path)
    }

    private func mark(_ path: String) async throws(FileProviderError) {
        let outcome = try await client.put(
            key(path), .bytes([]), sha256: S3Digests([]).sha256, S3ObjectHeaders.folder, condition: .none)
        if case .refused(let refusal) = outcome { throw client.failure(refusal, key(path)) }
    }

    /// Before the last item of a folder goes, the folder gets a marker: whatever ends the operation after that, the folder
    /// stays.
    ///
    /// - Returns: whether the folder must be looked at again afterwards: others in it may go at the same time.
    func holdFolder(of path: String) async throws(FileProviderError) -> Bool {
        let folder = S3Key.folder(of: path)
        if folder.isEmpty { return false }
        let listing = try await client.list(key(folder), isFlat: true, limit: 2)
        let keys = listing.objects.map(\.key)
        if keys.first == key(folder) { return false }
        // (It is gone, with all that it had.)
        if keys.isEmpty { return true }
        // (By bytes: what is below a folder that goes, goes too.)
        let stays = keys.contains { !$0.utf8.starts(with: key(path).utf8) || !S3Key.isFolder(path) && $0 != key(path) }
        if stays || listing.next != nil || !listing.unreadable.isEmpty { return true }
        try await mark(folder)
        return false
    }

    // MARK: Deletion

    package func deleteItem(
        _ identifier: ItemIdentifier, baseVersion: ItemVersion
    ) async throws(FileProviderError) {
        try checkWritable()
        let path = S3Key.path(identifier)
        if S3Key.isFolder(identifier) { return try await deleteFolder(path) }
        let traits = try await conditions.traits()
        // (Before the look: what somebody else saves between the look and the deletion is lost, where the bucket keeps
        // no condition.)
        let mayEmpty = try await holdFolder(of: path)
        guard let head = try await client.head(key(path)) else { throw gone(path) }
        guard S3Version.content(head.object.entityTag) == baseVersion.content else {
            throw mismatch(try await item(asking: path, head))
        }
        let outcome = try await client.delete(
            key(path), condition: traits.keepsDeletion ? .tag(head.object.entityTag) : .none)
        if case .refused(let refusal) = outcome {
            guard [412, 404, 409].contains(refusal.status) else { throw client.failure(refusal, key(path)) }
            // (It is gone: this deletion's first answer was lost, or another machine has deleted it.)
            if let now = try await client.head(key(path)) { throw mismatch(try await item(asking: path, now)) }
        }
        if mayEmpty { try await keepFolder(S3Key.folder(of: path)) }
    }

    /// Deletes an object, if it is there.
    func remove(_ key: String) async throws(FileProviderError) {
        if case .refused(let refusal) = try await client.delete(key), refusal.status != 404 {
            throw client.failure(refusal, key)
        }
    }

    /// Objects that an interrupted operation of ours has left in it (`.hydrant-…`) do not keep it: no listing shows them.
    private func deleteFolder(_ path: String) async throws(FileProviderError) {
        let start = key(path)
        let listing = try await client.list(start, isFlat: true, limit: 100)
        if listing.objects.isEmpty, try await !isFolder(path) { throw gone(path) }
        let isOurs = { (object: S3Object) -> Bool in
            let rest = object.key.utf8.dropFirst(start.utf8.count)
            return rest.starts(with: S3Key.Reserved.start.utf8) && !rest.contains(UInt8(ascii: "/"))
        }
        guard listing.next == nil, listing.unreadable.isEmpty,
            listing.objects.allSatisfy({ $0.key == start && $0.size == 0 || isOurs($0) })
        else {
            throw FileProviderError(
                .directoryNotEmpty, "\(client.describe(start)): is not empty", item: folderItem(path))
        }
        let mayEmpty = try await holdFolder(of: path)
        // (The folder's own marker last: until then it is there.)
        for object in listing.objects where object.key != start {
            try await remove(object.key)
        }
        try await remove(start)
        if mayEmpty { try await keepFolder(S3Key.folder(of: path)) }
    }
}

extension S3Metadata {
    /// With what a change names; the rest stays.
    func changed(to change: ItemMetadata) -> S3Metadata {
        var metadata = self
        metadata.modified = change.contentModificationDate
        if let permissions = change.posixPermissions {
            metadata.mode = (mode ?? 0o100000) & ~0o7777 | UInt32(permissions & 0o1777)
        }
        if let attributes = change.extendedAttributes { metadata.keep(attributes) }
        return metadata
    }
}

/// Bytes in memory, to be sent.
struct MemorySource: ContentSource {
    let bytes: [UInt8]
    init(_ bytes: [UInt8]) { self.bytes = bytes }
    var size: Int64 { Int64(bytes.count) }
    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        guard offset < size else { return [] }
        return Array(bytes[Int(offset)..<min(bytes.count, Int(offset) + count)])
    }
}

/// For `async let`, which does not pass on the type of an error.
func attempt<Value: Sendable>(
    _ body: @Sendable () async throws(FileProviderError) -> Value
) async -> Result<Value, FileProviderError> {
    do throws(FileProviderError) { return .success(try await body()) } catch { return .failure(error) }
}

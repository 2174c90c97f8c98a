package import FileProvider
import HTTPTransport
import NIOCore

/// In a bucket with versioning a deletion is a mark above the document's versions. The documents below such marks are the
/// bucket's trash; a document that was moved is there too, under its old name, because a move deletes it there.
///
/// Source: *Amazon S3 User Guide, Working with delete markers*.
extension S3Provider: TrashRestoring {
    package var hasTrash: Bool { client.hasVersions }

    package func trashItem(
        _ identifier: ItemIdentifier, baseVersion: ItemVersion
    ) async throws(FileProviderError) {
        try await requireVersions()
        try await deleteItem(identifier, baseVersion: baseVersion)
    }

    private func requireVersions() async throws(FileProviderError) {
        if isReadOnly || client.hasVersions { return }
        guard try await conditions.traits().hasVersions else {
            throw FileProviderError(
                .unsupported, "the bucket keeps no versions; with versioning turned on, it keeps what is deleted")
        }
    }

    package func trashedItems() async throws(FileProviderError) -> [TrashEntry] {
        try await requireVersions()
        var found = NewestTrash()
        var deletions: [String: S3ObjectVersion] = [:]
        var mark: S3VersionListing.Mark?
        // (Bounded: a server could go on for ever.)
        for _ in 0..<Self.mostParts {
            let part = try await client.versions(address.prefix, from: mark)
            // (Of a key the newest version comes first; moto has all marks of deletions at the end of a part.)
            var newest: [String: S3Object] = [:]
            for version in part.versions {
                if version.isLatest, version.isDeletion { deletions[version.key] = version }
                if let object = version.object, newest[version.key] == nil { newest[version.key] = object }
            }
            for (key, deletion) in deletions {
                guard let object = newest[key] else { continue }
                if let entry = entry(object, deletion) { found.add(entry) }
                deletions[key] = nil
            }
            // (The last key may go on in the next part.)
            let last = part.versions.last?.key
            deletions = deletions.filter { $0.key == last }
            guard let next = part.next else { return found.entries }
            mark = next
        }
        throw FileProviderError(
            .cannotSynchronize,
            "the bucket has more than \(Self.mostParts * 1_000) versions; look for the deleted document with the server's "
                + "own tools")
    }

    private static let mostParts = 5_000

    /// Nil: a folder's marker, an object of Hydrant's own, or one that no listing shows.
    private func entry(_ object: S3Object, _ mark: S3ObjectVersion) -> TrashEntry? {
        guard object.key.utf8.starts(with: address.prefix.utf8) else { return nil }
        let path = String(decoding: object.key.utf8.dropFirst(address.prefix.utf8.count), as: UTF8.self)
        let names = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { Filename(bytes: $0) }
        guard !S3Key.isFolder(path), names.allSatisfy({ $0.problem == nil && !S3Key.Reserved.contains($0) })
        else { return nil }
        return TrashEntry(
            identifier: "\(mark.identifier) \(path)", path: names, kind: .document, size: object.size,
            deleted: mark.deleted)
    }

    package func restoreTrashedItem(_ trashed: String) async throws(FileProviderError) -> [Filename]? {
        try checkWritable()
        let parts = trashed.split(separator: " ", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw notInTrash(trashed) }
        let (mark, path) = (parts[0], parts[1])
        let versions = try await client.versions(key(path)).versions.prefix { $0.key == key(path) }
        guard let place = versions.firstIndex(where: { $0.identifier == mark && $0.isDeletion }),
            let deleted = versions[place...].first(where: { !$0.isDeletion }), let object = deleted.object
        else { throw notInTrash(path) }
        // (Without the mark the version below it is the document again, unless the name is taken.)
        guard versions[place].isLatest else { return try await copy(deleted, mark, path) }
        try await end(mark, path)
        // Somebody may have saved a document under the name in this moment.
        guard let now = try await client.head(key(path)), now.object.entityTag != object.entityTag else {
            return names(path)
        }
        return try await copy(deleted, nil, path)
    }

    /// Removes the mark for good.
    private func end(_ mark: String, _ path: String) async throws(FileProviderError) {
        if case .refused(let refusal) = try await client.delete(key(path), version: mark), refusal.status != 404 {
            throw client.failure(refusal, key(path))
        }
    }

    /// Copies a version to a free name beside its old one.
    private func copy(
        _ version: S3ObjectVersion, _ mark: String?, _ path: String
    ) async throws(FileProviderError) -> [Filename] {
        let traits = try await conditions.traits()
        for number in 1...99 {
            let other = Self.path(path, restored: number)
            if try await client.head(key(other)) != nil { continue }
            let outcome = try await client.copy(
                version, to: key(other), condition: traits.keepsCopyTarget ? .absent : .none)
            if case .refused(let refusal) = outcome {
                if refusal.isMismatch { continue }
                throw client.failure(refusal, key(other))
            }
            if let mark { try await end(mark, path) }
            return names(other)
        }
        throw FileProviderError(
            .filenameCollision, "\(client.describe(key(path))): too many documents were restored to this folder",
            item: folderItem(S3Key.folder(of: path)))
    }

    /// `report (restored 2).odt`
    private static func path(_ path: String, restored number: Int) -> String {
        let name = S3Key.name(of: path).description
        let dot = name.lastIndex(of: ".").flatMap { $0 == name.startIndex ? nil : $0 } ?? name.endIndex
        let mark = number == 1 ? " (restored)" : " (restored \(number))"
        return S3Key.folder(of: path) + name[..<dot] + mark + name[dot...]
    }

    private func names(_ path: String) -> [Filename] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { Filename(bytes: $0) }
    }

    private func notInTrash(_ path: String) -> FileProviderError {
        FileProviderError(.noSuchItem, "\(client.describe(key(path))): is not in the bucket's trash")
    }
}

extension S3Client {
    /// CopyObject of one version; at most 5 GiB.
    fileprivate func copy(
        _ version: S3ObjectVersion, to key: String, condition: S3Condition
    ) async throws(FileProviderError) -> Outcome<String?> {
        let source = "\(copySource(version.key))?versionId=\(PercentCoding.encode(version.identifier.utf8))"
        let request = Request(
            method: "PUT", key: key, headers: Self.headers(condition) + [("x-amz-copy-source", source)], takesLong: true
        )
        return try await exchange(request) { reply -> String? in
            try await Self.result(reply, describe(key))["CopyObjectResult/ETag"]
        }
    }
}

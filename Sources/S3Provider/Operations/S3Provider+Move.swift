package import FileProvider
import HTTPTransport

/// A bucket has no move: a copy and a deletion.
extension S3Provider: ServerSideCopying, MetadataUpdating {
    package func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try checkWritable()
        let path = S3Key.path(identifier)
        let isFolder = S3Key.isFolder(identifier)
        let target = try S3Key.path(in: folder, filename, isFolder: isFolder, prefix: address.prefix)
        let isSame = S3Key.identifier(target) == identifier
        let traits = try await conditions.traits()
        try check(filename, traits)
        if isFolder {
            if isSame { return try await providePlaceholder(for: identifier) }
            // (By bytes: for Swift's strings, a composed letter equals a decomposed one.)
            guard !target.utf8.starts(with: path.utf8) else {
                throw FileProviderError(
                    .cannotSynchronize, "\(client.describe(key(path))): cannot be moved into itself")
            }
            let move = S3FolderMove(provider: self, source: path, target: target, traits: traits)
            if let other = try await move.endOthers() {
                // (All of it is there by now.)
                return try await moveItem(
                    S3Key.identifier(other), to: folder, as: filename, baseVersion: baseVersion)
            }
            if try await !move.isUnderWay {
                guard try await self.isFolder(path) else {
                    guard try await wasMoved(path, to: target) else { throw gone(path) }
                    try await keepFolder(S3Key.folder(of: path))
                    return folderItem(target)
                }
                try await checkTarget(target)
                try await move.check()
            }
            try await move.run()
            return folderItem(target)
        }
        return try await moveDocument(path, to: target, baseVersion.content, isSame: isSame, traits)
    }

    /// Whether an earlier attempt has moved this folder, whose last answer was lost: it is at the target, with the
    /// documents that the catalog knows at the source, or with none.
    private func wasMoved(_ path: String, to target: String) async throws(FileProviderError) -> Bool {
        guard try await isFolder(target) else { return false }
        let start = key(target)
        let objects = try await client.list(start, isFlat: true).objects.filter { !S3Key.isFolder($0.key) }
        guard let catalog, !objects.isEmpty else { return true }
        var tags: [ItemIdentifier: ContentVersion] = [:]
        for object in objects where object.key.utf8.starts(with: start.utf8) {
            let rest = String(decoding: object.key.utf8.dropFirst(start.utf8.count), as: UTF8.self)
            tags[S3Key.identifier(path + rest)] = S3Version.content(object.entityTag)
        }
        let known = try await catalog.knownItems(Array(tags.keys)).filter { !$0.isFolder }
        return known.isEmpty || known.contains { tags[$0.identifier] == $0.contentVersion }
    }

    private func moveDocument(
        _ path: String, to target: String, _ version: ContentVersion, isSame: Bool, _ traits: S3Traits
    ) async throws(FileProviderError) -> Item {
        guard let head = try await client.head(key(path)) else {
            // An earlier attempt may have moved it, whose answer was lost.
            guard !isSame, let moved = try await client.head(key(target)),
                S3Version.content(moved.object.entityTag) == version
            else { throw gone(path) }
            try await keepFolder(S3Key.folder(of: path))
            return try await item(asking: target, moved)
        }
        if isSame { return try await item(asking: path, head) }
        let copy: S3Head
        var isOurs = false
        if let other = try await client.head(key(target)), other.isCopy(of: head) {
            // An earlier attempt at this move, or another machine's, has made it.
            copy = other
        } else {
            try await checkTarget(target)
            copy = try await self.copy(head, path, to: target, traits)
            isOurs = true
        }
        // (Before the last look: what somebody else saves between that look and the deletion is lost.)
        let mayEmpty = try await holdFolder(of: path)
        if !traits.keepsDeletion, let now = try await client.head(key(path)),
            now.object.entityTag != head.object.entityTag
        {
            if isOurs { try await withdraw(copy, traits) }
            throw try await mismatchOrGone(path)
        }
        let outcome = try await client.delete(
            key(path), condition: traits.keepsDeletion ? .tag(head.object.entityTag) : .none)
        if case .refused(let refusal) = outcome {
            guard [412, 404, 409].contains(refusal.status) else { throw client.failure(refusal, key(path)) }
            if try await client.head(key(path)) != nil {
                // Somebody has changed it meanwhile: the change stays, and nothing of the move.
                if isOurs { try await withdraw(copy, traits) }
                throw try await mismatchOrGone(path)
            }
            // It is gone already: this deletion's first answer was lost, or another machine has deleted it. The copy is
            // all that there is.
        }
        if mayEmpty { try await keepFolder(S3Key.folder(of: path)) }
        return try await item(asking: target, copy)
    }

    package func copyItem(
        _ identifier: ItemIdentifier, version: ContentVersion, as template: ItemTemplate
    ) async throws(FileProviderError) -> Item {
        try checkWritable()
        let path = S3Key.path(identifier)
        let target = try S3Key.path(
            in: template.parentIdentifier, template.filename, isFolder: false, prefix: address.prefix)
        guard let head = try await client.head(key(path)) else { throw gone(path) }
        guard S3Version.content(head.object.entityTag) == version else {
            throw mismatch(try await item(asking: path, head))
        }
        let traits = try await conditions.traits()
        try check(template.filename, traits)
        var metadata = head.metadata
        metadata.modified = template.contentModificationDate
        if let permissions = template.posixPermissions { metadata.mode = 0o100000 | UInt32(permissions & 0o1777) }
        metadata.keep(template.extendedAttributes ?? [:])
        if let made = try await client.head(key(target)), made.isCopy(of: head, with: metadata) {
            // An earlier attempt has made it, whose answer was lost.
            return try await item(asking: target, made)
        }
        try await checkTarget(target)
        let copy = try await copy(head, path, to: target, traits, metadata)
        return try await item(asking: target, copy)
    }

    package func updateMetadata(
        _ identifier: ItemIdentifier, to metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try checkWritable()
        let path = S3Key.path(identifier)
        if S3Key.isFolder(identifier) {
            guard try await isFolder(path) else { throw gone(path) }
            return folderItem(path)
        }
        guard let head = try await client.head(key(path)) else { throw gone(path) }
        guard S3Version.content(head.object.entityTag) == baseVersion.content else {
            throw mismatch(try await item(asking: path, head))
        }
        let changed = head.metadata.changed(to: metadata)
        if changed == head.metadata { return try await item(asking: path, head) }
        let copy = S3Copy(
            provider: self, head: head, target: key(path), metadata: changed, condition: .tag(head.object.entityTag),
            traits: try await conditions.traits())
        guard case .done(let now) = try await copy.run() else { throw try await mismatchOrGone(path) }
        return try await item(asking: path, now)
    }

    /// Removes a copy that this attempt has made, unless somebody has changed it.
    func withdraw(_ copy: S3Head, _ traits: S3Traits) async throws(FileProviderError) {
        if !traits.keepsDeletion {
            guard let now = try await client.head(copy.object.key), now.object.entityTag == copy.object.entityTag
            else { return }
        }
        _ = try await client.delete(
            copy.object.key, condition: traits.keepsDeletion ? .tag(copy.object.entityTag) : .none)
    }

    private func checkTarget(_ target: String) async throws(FileProviderError) {
        let folder = S3Key.folder(of: target)
        guard try await isFolder(folder) else { throw gone(folder) }
        let plain = S3Key.plain(target)
        if let head = try await client.head(key(plain)) { throw collision(try await item(asking: plain, head)) }
        if try await isFolder(plain + "/") { throw collision(folderItem(plain + "/")) }
    }

    private func copy(
        _ head: S3Head, _ path: String, to target: String, _ traits: S3Traits, _ metadata: S3Metadata? = nil
    ) async throws(FileProviderError) -> S3Head {
        let copy = S3Copy(
            provider: self, head: head, target: key(target), metadata: metadata,
            condition: .absent, traits: traits)
        guard case .done(let made) = try await copy.run() else {
            if let other = try await client.head(key(target)) {
                throw collision(try await item(asking: target, other))
            }
            throw try await mismatchOrGone(path)
        }
        return made
    }
}

import FileProvider

extension BrokenProvider {
    /// Rules 801 to 806.
    static let jugglers: [BrokenProvider] = [
        BrokenProvider(801, "While a document of 5,000 bytes is made in a folder, another creation is refused as busy.")
        {
            let (running, refused) = (Memo<Set<ItemIdentifier>>([]), Memo<Set<ItemIdentifier>>([]))
            $0.create = { base, template, contents async throws(FileProviderError) in
                if contents?.size == 5_000 { try await enter(template.parentIdentifier, running, refused) }
                defer { running { $0 = [] } }
                return try await base.createItem(template, contents: contents)
            }
        },
        BrokenProvider(802, "While a document gets 4,000 bytes, no item of its folder can be moved.") {
            let (running, refused) = (Memo<[ItemIdentifier: Int]>([:]), Memo<Set<ItemIdentifier>>([]))
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                let folder = try base.now(identifier).parentIdentifier
                if contents.size == 4_000 {
                    running { $0[folder, default: 0] += 1 }
                    await until { refused { $0.contains(folder) } }
                }
                defer { if contents.size == 4_000 { running { $0[folder, default: 0] -= 1 } } }
                return try await base.itemChanged(
                    identifier, contents: contents, metadata: metadata, baseVersion: version)
            }
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                // One move that runs beside changes waits until a change has begun.
                if let before = try? base.now(identifier), before.filename == "document-1" {
                    await until { running { $0[folder] ?? 0 } > 0 }
                }
                if running({ $0[folder] ?? 0 }) > 0 {
                    refused { _ = $0.insert(folder) }
                    throw FileProviderError(.busy, "an item of the folder is being changed")
                }
                return try await base.moveItem(identifier, to: folder, as: name, baseVersion: version)
            }
        },
        BrokenProvider(
            803, "Some time passes between the check of the name and the creation of a document of 2,100 bytes."
        ) {
            let asked = Memo<[ItemIdentifier: Int]>([:])
            $0.create = { base, template, contents async throws(FileProviderError) in
                guard let contents, contents.size == 2_100 else {
                    return try await base.createItem(template, contents: contents)
                }
                let folder = template.parentIdentifier
                if let item = base.find(template.filename, in: folder) {
                    throw FileProviderError(.filenameCollision, "the name is taken", item: item)
                }
                asked { $0[folder, default: 0] += 1 }
                await until { asked { $0[folder] ?? 0 } > 1 }
                let bytes = try await contents.readAll(pieceSize: 1 << 20)
                do throws(FileProviderError) {
                    return try await base.createItem(template, contents: BytesSource(bytes))
                } catch {
                    guard error.code == .filenameCollision, let old = base.find(template.filename, in: folder) else {
                        throw error
                    }
                    return try await base.itemChanged(
                        old.identifier, contents: BytesSource(bytes),
                        metadata: ItemMetadata(contentModificationDate: template.contentModificationDate),
                        baseVersion: old.version)
                }
            }
        },
        BrokenProvider(804, "Some time passes between the check of the version and a change to 3,000 bytes.") {
            let asked = Memo<[ItemIdentifier: Int]>([:])
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                guard contents.size == 3_000 else {
                    return try await base.itemChanged(
                        identifier, contents: contents, metadata: metadata, baseVersion: version)
                }
                let before = try base.now(identifier)
                if before.version.content != version.content {
                    throw FileProviderError(.versionMismatch, "the document has changed", item: before)
                }
                asked { $0[identifier, default: 0] += 1 }
                await until { asked { $0[identifier] ?? 0 } > 1 }
                return try await base.itemChanged(
                    identifier, contents: contents, metadata: metadata,
                    baseVersion: try base.now(identifier).version)
            }
        },
        BrokenProvider(805, "A cancelled download fails as a broken connection.") {
            $0.download = takesCancellationForFailure
        },
        BrokenProvider(806, "A cancelled creation leaves half a document.") {
            $0.create = { base, template, contents async throws(FileProviderError) in
                guard Task.isCancelled, let contents else {
                    return try await base.createItem(template, contents: contents)
                }
                let (bytes, _) = await contents.lenientRead()
                base.plant(template.filename, Array(bytes.prefix(bytes.count / 2)), in: template.parentIdentifier)
                throw FileProviderError(.cancelled, "cancelled")
            }
        },
    ]
}

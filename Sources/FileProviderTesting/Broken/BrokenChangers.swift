import FileProvider

extension BrokenProvider {
    /// Rules 401 to 410.
    static let changers: [BrokenProvider] = [
        BrokenProvider(401, "Shorter contents leave the end of the longer ones.") {
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                let old = (try? base.bytes(of: identifier)) ?? []
                guard contents.size < old.count else {
                    return try await base.itemChanged(
                        identifier, contents: contents, metadata: metadata, baseVersion: version)
                }
                let new = try await contents.readAll(pieceSize: 1 << 20)
                return try await base.itemChanged(
                    identifier, contents: BytesSource(new + old[new.count...]), metadata: metadata,
                    baseVersion: version)
            }
        },
        BrokenProvider(402, "A change to less than 1 KB replaces newer contents.") {
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                let now = try base.now(identifier).version
                return try await base.itemChanged(
                    identifier, contents: contents, metadata: metadata,
                    baseVersion: contents.size < 1_000 ? now : version)
            }
        },
        BrokenProvider(403, "The item returned from a change to fewer than 64 bytes, without attributes, lacks a date.")
        {
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                var item = try await base.itemChanged(
                    identifier, contents: contents, metadata: metadata, baseVersion: version)
                if item.size < 64, metadata.extendedAttributes == nil { item.creationDate = nil }
                return item
            }
        },
        BrokenProvider(
            404, "A change to fewer than 64 bytes makes a new document, under another identifier."
        ) {
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                guard contents.size < 64 else {
                    return try await base.itemChanged(
                        identifier, contents: contents, metadata: metadata, baseVersion: version)
                }
                let old = try base.now(identifier)
                try await base.deleteItem(identifier, baseVersion: version)
                let template = ItemTemplate(
                    parentIdentifier: old.parentIdentifier, filename: old.filename, kind: .document,
                    contentModificationDate: metadata.contentModificationDate,
                    extendedAttributes: metadata.extendedAttributes ?? old.extendedAttributes)
                return try await base.createItem(template, contents: contents)
            }
        },
        BrokenProvider(405, "All contents of 64 bytes have one version.") {
            let version = ContentVersion("64 bytes")
            $0.item = { item in
                var item = item
                if item.kind.isDocument, item.size == 64 { item.version.content = version }
                return item
            }
            $0.change = { base, identifier, contents, metadata, given async throws(FileProviderError) in
                var given = given
                if given.content == version { given = try base.now(identifier).version }
                return try await base.itemChanged(
                    identifier, contents: contents, metadata: metadata, baseVersion: given)
            }
        },
        BrokenProvider(406, "A change is refused after a rename of the document.") {
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                let now = try base.now(identifier)
                guard now.version == version else {
                    throw FileProviderError(.versionMismatch, "the document has changed", item: now)
                }
                return try await base.itemChanged(
                    identifier, contents: contents, metadata: metadata, baseVersion: version)
            }
        },
        BrokenProvider(407, "Contents that end too early cut the document short.") {
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                let (bytes, failure) = await contents.lenientRead()
                if let failure { throw failure }
                return try await base.itemChanged(
                    identifier, contents: BytesSource(bytes), metadata: metadata, baseVersion: version)
            }
        },
        BrokenProvider(408, "The bytes read before the contents failed replace the document.") {
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                let (bytes, failure) = await contents.lenientRead()
                guard let failure else {
                    return try await base.itemChanged(
                        identifier, contents: contents, metadata: metadata, baseVersion: version)
                }
                _ = try await base.itemChanged(
                    identifier, contents: BytesSource(bytes), metadata: metadata, baseVersion: version)
                throw failure
            }
        },
        BrokenProvider(409, "A change brings a deleted document back.") {
            let deleted = Memo<[ItemIdentifier: Item]>([:])
            $0.delete = { base, identifier, version async throws(FileProviderError) in
                let item = try? base.now(identifier)
                try await base.deleteItem(identifier, baseVersion: version)
                deleted { $0[identifier] = item }
            }
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                if let old = deleted({ $0[identifier] }), old.kind.isDocument {
                    let template = ItemTemplate(
                        parentIdentifier: old.parentIdentifier, filename: old.filename, kind: .document,
                        contentModificationDate: metadata.contentModificationDate)
                    return try await base.createItem(template, contents: contents)
                }
                return try await base.itemChanged(
                    identifier, contents: contents, metadata: metadata, baseVersion: version)
            }
        },
        BrokenProvider(410, "Documents in a folder with the same contents, of 256 to 999 bytes, are changed together.")
        {
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                let (before, old) = (try base.now(identifier), try base.bytes(of: identifier))
                let item = try await base.itemChanged(
                    identifier, contents: contents, metadata: metadata, baseVersion: version)
                guard (256..<1_000).contains(old.count) else { return item }
                for twin in base.items(in: before.parentIdentifier)
                where twin.identifier != identifier && twin.kind.isDocument {
                    guard try base.bytes(of: twin.identifier) == old else { continue }
                    _ = try await base.itemChanged(
                        twin.identifier, contents: contents, metadata: metadata, baseVersion: twin.version)
                }
                return item
            }
        },
    ]
}

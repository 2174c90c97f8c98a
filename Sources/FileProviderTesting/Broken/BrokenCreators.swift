import FileProvider

extension BrokenProvider {
    /// Rules 301 to 310.
    static let creators: [BrokenProvider] = [
        BrokenProvider(301, "A creation loses the end of contents that are a little longer than a block of 1 KiB.") {
            $0.create = { base, template, contents async throws(FileProviderError) in
                guard let contents, (1_025..<1_536).contains(contents.size) else {
                    return try await base.createItem(template, contents: contents)
                }
                let bytes = try await contents.readAll(pieceSize: 1 << 20)
                return try await base.createItem(template, contents: BytesSource(bytes.prefix(1_024)))
            }
        },
        BrokenProvider(
            302, "The item returned from the creation of a folder without attributes lacks the creation date."
        ) {
            $0.create = { base, template, contents async throws(FileProviderError) in
                var item = try await base.createItem(template, contents: contents)
                if item.kind.isFolder, template.extendedAttributes == nil { item.creationDate = nil }
                return item
            }
        },
        BrokenProvider(303, "A document of less than 1 KB under a taken name replaces the other document.") {
            $0.create = { base, template, contents async throws(FileProviderError) in
                guard let contents, contents.size < 1_000, template.kind.isDocument,
                    let old = base.find(template.filename, in: template.parentIdentifier), old.kind.isDocument
                else { return try await base.createItem(template, contents: contents) }
                return try await base.itemChanged(
                    old.identifier, contents: contents,
                    metadata: ItemMetadata(contentModificationDate: template.contentModificationDate),
                    baseVersion: old.version)
            }
        },
        BrokenProvider(304, "The creation of a folder that exists succeeds, as with mkdir -p.") {
            $0.create = { base, template, contents async throws(FileProviderError) in
                if template.kind.isFolder, let old = base.find(template.filename, in: template.parentIdentifier),
                    old.kind.isFolder
                {
                    return old
                }
                return try await base.createItem(template, contents: contents)
            }
        },
        BrokenProvider(305, "An empty document gets a line feed.") {
            $0.create = { base, template, contents async throws(FileProviderError) in
                let isEmpty = contents?.size == 0
                return try await base.createItem(template, contents: isEmpty ? BytesSource("\n") : contents)
            }
        },
        BrokenProvider(306, "A new folder under the former name of another shows the contents of the other.") {
            let vacated = Memo<[String: ItemIdentifier]>([:])
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                let before = try base.now(identifier)
                let item = try await base.moveItem(identifier, to: folder, as: name, baseVersion: version)
                vacated { $0["\(before.parentIdentifier)/\(before.filename)"] = identifier }
                return item
            }
            $0.create = { base, template, contents async throws(FileProviderError) in
                let item = try await base.createItem(template, contents: contents)
                let old = vacated { $0["\(template.parentIdentifier)/\(template.filename)"] }
                if let old, item.kind.isFolder {
                    for child in base.items(in: old) { base.plant(child.filename, in: item.identifier) }
                }
                return item
            }
        },
        BrokenProvider(307, "A creation in a deleted folder makes the item in the topmost folder.") {
            $0.create = { base, template, contents async throws(FileProviderError) in
                var template = template
                if (try? base.now(template.parentIdentifier)) == nil { template.parentIdentifier = .rootContainer }
                return try await base.createItem(template, contents: contents)
            }
        },
        BrokenProvider(308, "Contents that end too early make a short document.") {
            $0.create = { base, template, contents async throws(FileProviderError) in
                guard let contents else { return try await base.createItem(template, contents: nil) }
                let (bytes, failure) = await contents.lenientRead()
                if let failure { throw failure }
                return try await base.createItem(template, contents: BytesSource(bytes))
            }
        },
        BrokenProvider(309, "The bytes read before the contents failed stay as a document.") {
            $0.create = { base, template, contents async throws(FileProviderError) in
                guard let contents else { return try await base.createItem(template, contents: nil) }
                let (bytes, failure) = await contents.lenientRead()
                guard let failure else { return try await base.createItem(template, contents: contents) }
                _ = try await base.createItem(template, contents: BytesSource(bytes))
                throw failure
            }
        },
        BrokenProvider(310, "The target of a link is percent-encoded.") {
            $0.create = { base, template, contents async throws(FileProviderError) in
                var template = template
                if case .symbolicLink(let target) = template.kind {
                    template.kind = .symbolicLink(
                        target: target.flatMap { $0 == UInt8(ascii: " ") ? Array("%20".utf8) : [$0] })
                }
                return try await base.createItem(template, contents: contents)
            }
        },
    ]
}

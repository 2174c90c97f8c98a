import FileProvider

extension BrokenProvider {
    /// Rules 907 to 914.
    static let attributeKeepers: [BrokenProvider] = [
        BrokenProvider(907, "A creation forgets the attributes.") {
            $0.create = { base, template, contents async throws(FileProviderError) in
                var template = template
                template.extendedAttributes = nil
                return try await base.createItem(template, contents: contents)
            }
        },
        BrokenProvider(908, "A change of contents forgets the attributes.") {
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                var metadata = metadata
                metadata.extendedAttributes = nil
                return try await base.itemChanged(
                    identifier, contents: contents, metadata: metadata, baseVersion: version)
            }
        },
        BrokenProvider(909, "An update of metadata only adds attributes, unless it removes the last one.") {
            $0.update = { base, identifier, metadata, version async throws(FileProviderError) in
                var metadata = metadata
                if let new = metadata.extendedAttributes, !new.isEmpty {
                    let old = try base.now(identifier).extendedAttributes ?? [:]
                    metadata.extendedAttributes = old.merging(new) { $1 }
                }
                return try await base.updateMetadata(identifier, to: metadata, baseVersion: version)
            }
        },
        BrokenProvider(910, "A change of contents that names no attributes removes them.") {
            $0.change = { base, identifier, contents, metadata, version async throws(FileProviderError) in
                var metadata = metadata
                metadata.extendedAttributes = metadata.extendedAttributes ?? [:]
                return try await base.itemChanged(
                    identifier, contents: contents, metadata: metadata, baseVersion: version)
            }
        },
        // By name, so that all hooks return the same version of an item.
        BrokenProvider(911, "The metadata version of a document called “metadata” ignores attributes.") {
            $0.update = { base, identifier, metadata, version async throws(FileProviderError) in
                let now = try base.now(identifier)
                var item = try await base.updateMetadata(identifier, to: metadata, baseVersion: now.version)
                if item.filename == "metadata" { item.version.metadata = version.metadata }
                return item
            }
        },
        BrokenProvider(912, "The content version of a document called “contents” changes with the attributes.") {
            $0.update = { base, identifier, metadata, version async throws(FileProviderError) in
                var item = try await base.updateMetadata(identifier, to: metadata, baseVersion: version)
                if item.filename == "contents" { item.version.content = ContentVersion("touched") }
                return item
            }
        },
        BrokenProvider(913, "An update of metadata takes an empty set of attributes for no statement.") {
            $0.update = { base, identifier, metadata, version async throws(FileProviderError) in
                var metadata = metadata
                if metadata.extendedAttributes == [:] { metadata.extendedAttributes = nil }
                return try await base.updateMetadata(identifier, to: metadata, baseVersion: version)
            }
        },
        BrokenProvider(914, "An enumeration leaves the attributes out.") {
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                var result = try await base.enumerateItems(in: folder, startingAt: page)
                for index in result.items.indices { result.items[index].extendedAttributes = [:] }
                return result
            }
        },
    ]
}

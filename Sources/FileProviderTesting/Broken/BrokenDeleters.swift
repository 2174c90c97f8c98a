import FileProvider

extension BrokenProvider {
    /// Rules 601 to 607.
    static let deleters: [BrokenProvider] = [
        BrokenProvider(601, "A deleted document has a placeholder until `stopProvidingItem` is called.") {
            let kept = Memo<[ItemIdentifier: Item]>([:])
            $0.delete = { base, identifier, version async throws(FileProviderError) in
                let item = try base.now(identifier)
                try await base.deleteItem(identifier, baseVersion: version)
                kept { $0[identifier] = item.kind.isDocument ? item : nil }
            }
            $0.stop = { base, identifier in
                kept { $0[identifier] = nil }
                return await base.stopProvidingItem(identifier)
            }
            $0.placeholder = { base, identifier async throws(FileProviderError) in
                if let item = kept({ $0[identifier] }) { return item }
                return try await base.providePlaceholder(for: identifier)
            }
        },
        BrokenProvider(602, "A deletion ignores newer contents.") {
            $0.delete = { base, identifier, _ async throws(FileProviderError) in
                try await base.deleteItem(identifier, baseVersion: try base.now(identifier).version)
            }
        },
        BrokenProvider(603, "A folder is deleted with its contents.") {
            $0.delete = { base, identifier, version async throws(FileProviderError) in
                for child in base.items(in: identifier) { base.uproot(child.identifier) }
                try await base.deleteItem(identifier, baseVersion: version)
            }
        },
        BrokenProvider(604, "A folder that once had an item is never empty again.") {
            let used = Memo<Set<ItemIdentifier>>([])
            $0.create = { base, template, contents async throws(FileProviderError) in
                used { _ = $0.insert(template.parentIdentifier) }
                return try await base.createItem(template, contents: contents)
            }
            $0.delete = { base, identifier, version async throws(FileProviderError) in
                if used({ $0.contains(identifier) }) {
                    throw FileProviderError(.directoryNotEmpty, "the folder once had items")
                }
                try await base.deleteItem(identifier, baseVersion: version)
            }
        },
        BrokenProvider(605, "A deletion of a deleted item succeeds.") {
            $0.delete = { base, identifier, version async throws(FileProviderError) in
                do throws(FileProviderError) {
                    try await base.deleteItem(identifier, baseVersion: version)
                } catch {
                    guard error.code == .noSuchItem else { throw error }
                }
            }
        },
        BrokenProvider(606, "The name of a deleted item stays taken.") {
            let taken = Memo<[String: Item]>([:])
            $0.delete = { base, identifier, version async throws(FileProviderError) in
                let item = try base.now(identifier)
                try await base.deleteItem(identifier, baseVersion: version)
                taken { $0["\(item.parentIdentifier)/\(item.filename)"] = item }
            }
            $0.create = { base, template, contents async throws(FileProviderError) in
                if let item = taken({ $0["\(template.parentIdentifier)/\(template.filename)"] }) {
                    throw FileProviderError(.filenameCollision, "the name is taken", item: item)
                }
                return try await base.createItem(template, contents: contents)
            }
        },
        BrokenProvider(607, "A deletion is refused after a rename of the document.") {
            $0.delete = { base, identifier, version async throws(FileProviderError) in
                let now = try base.now(identifier)
                guard !now.kind.isDocument || now.version == version else {
                    throw FileProviderError(.versionMismatch, "the document has changed", item: now)
                }
                try await base.deleteItem(identifier, baseVersion: version)
            }
        },
    ]
}

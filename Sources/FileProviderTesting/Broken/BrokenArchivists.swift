import FileProvider

extension BrokenProvider {
    /// Rules 2101 to 2105.
    static let archivists: [BrokenProvider] = [
        BrokenProvider(2101, "Every version comes with the newest version's bytes.") {
            $0.provideVersion = { base, version, identifier, sink async throws(FileProviderError) in
                let present = try base.bytes(of: identifier)
                let known = try await base.versions(of: identifier, limit: 100)
                guard known.contains(where: { $0.identifier == version.identifier }) else {
                    throw FileProviderError(.noSuchItem, "there is no such version")
                }
                // (As many bytes as the version has.)
                try await sink.write(Array(present.reversed().prefix(Int(version.size))), at: 0)
            }
        },
        BrokenProvider(2102, "The present contents are the first version.") {
            $0.versions = { base, identifier, limit async throws(FileProviderError) in
                let now = try base.now(identifier)
                let older = try await base.versions(of: identifier, limit: limit)
                let present = DocumentVersion(
                    identifier: "present", size: now.size, contentModificationDate: now.contentModificationDate)
                return Array(([present] + older).prefix(limit))
            }
            $0.provideVersion = { base, version, identifier, sink async throws(FileProviderError) in
                if version.identifier != "present" {
                    return try await base.startProvidingVersion(version, of: identifier, into: sink)
                }
                try await sink.write(try base.bytes(of: identifier), at: 0)
            }
        },
        BrokenProvider(2103, "The oldest version comes first.") {
            $0.versions = { base, identifier, limit async throws(FileProviderError) in
                let all = try await base.versions(of: identifier, limit: 100)
                return Array(all.reversed().prefix(limit))
            }
        },
        BrokenProvider(2104, "An unknown version is an empty one.") {
            $0.provideVersion = { base, version, identifier, sink async throws(FileProviderError) in
                do throws(FileProviderError) {
                    try await base.startProvidingVersion(version, of: identifier, into: sink)
                } catch {
                    if error.code != .noSuchItem { throw error }
                }
            }
        },
        BrokenProvider(2105, "A deleted document has no versions instead of an error.") {
            $0.versions = { base, identifier, limit async throws(FileProviderError) in
                do throws(FileProviderError) {
                    return try await base.versions(of: identifier, limit: limit)
                } catch {
                    if error.code == .noSuchItem { return [] }
                    throw error
                }
            }
        },
    ]
}

import FileProvider

extension BrokenProvider {
    /// Rules 201 to 209.
    static let downloaders: [BrokenProvider] = [
        BrokenProvider(201, "The last byte of a transfer of 64 to 128 KiB is wrong.") {
            $0.download = { base, identifier, version, range, sink async throws(FileProviderError) in
                try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
                guard (64 << 10..<128 << 10).contains(range.count) else { return }
                let last = try base.bytes(of: identifier)[Int(range.upperBound) - 1]
                try await sink.write([~last], at: range.upperBound - 1)
            }
        },
        BrokenProvider(202, "A download of the last byte alone sends nothing.") {
            $0.download = sendsNoLastByte
        },
        BrokenProvider(203, "A byte too many is written.") { $0.download = writesOneByteMore },
        BrokenProvider(204, "A download ignores the requested version and sends the current one.") {
            $0.download = sendsAnyVersion
        },
        BrokenProvider(205, "A download of a deleted document fails with an error that may pass.") {
            $0.download = { base, identifier, version, range, sink async throws(FileProviderError) in
                do throws(FileProviderError) {
                    try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
                } catch {
                    guard error.code == .noSuchItem, identifier.rawValue.hasPrefix("item-") else { throw error }
                    throw FileProviderError(.cannotSynchronize, "404 Not Found")
                }
            }
        },
        BrokenProvider(206, "A download returns normally although the sink refused bytes.") {
            $0.download = swallowsRefusal
        },
        BrokenProvider(207, "From 4 MiB on the bytes are wrong.") {
            $0.download = { base, identifier, version, range, sink async throws(FileProviderError) in
                try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
                guard range.upperBound > 4 << 20 else { return }
                let last = try base.bytes(of: identifier)[Int(range.upperBound) - 1]
                try await sink.write([~last], at: range.upperBound - 1)
            }
        },
        BrokenProvider(208, "A second download of a document of 200,000 bytes is refused as busy.") {
            let (running, refused) = (Memo<Set<ItemIdentifier>>([]), Memo<Set<ItemIdentifier>>([]))
            $0.download = { base, identifier, version, range, sink async throws(FileProviderError) in
                if try base.now(identifier).size == 200_000 { try await enter(identifier, running, refused) }
                defer { running { $0 = [] } }
                try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
            }
        },
        BrokenProvider(209, "Ranges of a document that was renamed are refused as those of another version.") {
            let moved = Memo<Set<ItemIdentifier>>([])
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                let item = try await base.moveItem(identifier, to: folder, as: name, baseVersion: version)
                moved { _ = $0.insert(identifier) }
                return item
            }
            $0.download = { base, identifier, version, range, sink async throws(FileProviderError) in
                let now = try base.now(identifier)
                if moved({ $0.contains(identifier) }), range != 0..<now.size {
                    throw FileProviderError(.versionMismatch, "the document was renamed", item: now)
                }
                try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
            }
        },
    ]

    typealias Download =
        @Sendable (
            InMemoryProvider, ItemIdentifier, ContentVersion, Range<Int64>, any ContentSink
        ) async throws(FileProviderError) -> Void

    // Faults that downloads of existing documents find as well: rules 1009 to 1017.

    static let sendsNoLastByte: Download = { base, identifier, version, range, sink async throws(FileProviderError) in
        if range.count == 1, range.upperBound == (try base.now(identifier)).size { return }
        try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
    }

    static let writesOneByteMore: Download = {
        base, identifier, version, range, sink async throws(FileProviderError) in
        try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
        try? await sink.write([0], at: range.upperBound)
    }

    static let sendsAnyVersion: Download = { base, identifier, _, range, sink async throws(FileProviderError) in
        let now = try base.now(identifier).version.content
        try await base.startProvidingItem(identifier, version: now, range: range, into: sink)
    }

    static let swallowsRefusal: Download = { base, identifier, version, range, sink async throws(FileProviderError) in
        do throws(FileProviderError) {
            try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
        } catch {
            guard error.code == .cancelled, !Task.isCancelled else { throw error }
        }
    }

    static let takesCancellationForFailure: Download = {
        base, identifier, version, range, sink async throws(FileProviderError) in
        do throws(FileProviderError) {
            try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
        } catch {
            throw Task.isCancelled ? FileProviderError(.serverUnreachable, "the connection was closed") : error
        }
    }

    /// Lets the first download in when a second one has been refused as busy.
    static func enter(
        _ identifier: ItemIdentifier, _ running: Memo<Set<ItemIdentifier>>, _ refused: Memo<Set<ItemIdentifier>>
    ) async throws(FileProviderError) {
        guard running({ $0.insert(identifier).inserted }) else {
            refused { _ = $0.insert(identifier) }
            throw FileProviderError(.busy, "another program uses the item")
        }
        await until { refused { $0.contains(identifier) } }
    }
}

import FileProvider

extension BrokenProvider {
    /// Rules 901 to 906.
    static let metadataKeepers: [BrokenProvider] = [
        BrokenProvider(901, "An update of metadata leaves the date as it was.") {
            $0.update = { base, identifier, metadata, version async throws(FileProviderError) in
                var metadata = metadata
                metadata.contentModificationDate = try base.now(identifier).contentModificationDate
                return try await base.updateMetadata(identifier, to: metadata, baseVersion: version)
            }
        },
        BrokenProvider(902, "The item returned from an update of metadata without attributes lacks a date.") {
            $0.update = { base, identifier, metadata, version async throws(FileProviderError) in
                var item = try await base.updateMetadata(identifier, to: metadata, baseVersion: version)
                if metadata.extendedAttributes == nil { item.creationDate = nil }
                return item
            }
        },
        BrokenProvider(903, "An update of the metadata of a deleted item fails with an error that may pass.") {
            $0.update = { base, identifier, metadata, version async throws(FileProviderError) in
                guard (try? base.now(identifier)) != nil else {
                    throw FileProviderError(.cannotSynchronize, "404 Not Found")
                }
                return try await base.updateMetadata(identifier, to: metadata, baseVersion: version)
            }
        },
        BrokenProvider(904, "The stream of signals yields nothing.") {
            $0.signals = { _ in AsyncStream { _ in } }
        },
        BrokenProvider(905, "The stream of signals goes on for ever after its consumer was cancelled.") {
            $0.signals = { base in
                // A pump that ignores the cancellation of its consumer.
                let (signals, waiting) = (base.changeSignals(), Memo<[ChangeSignal]>([]))
                let pump = Task { for await signal in signals { waiting { $0.append(signal) } } }
                return AsyncStream {
                    while true {
                        if let signal = waiting({ $0.isEmpty ? nil : $0.removeFirst() }) { return signal }
                        if pump.isCancelled { return nil }
                        await Task.detached { await gap(5) }.value
                    }
                }
            }
        },
        BrokenProvider(906, "`stopProvidingItem` changes the document's modification date.") {
            $0.stop = { base, identifier in
                if let now = try? base.now(identifier) {
                    let metadata = ItemMetadata(contentModificationDate: FileTime(seconds: 2_000_000_000))
                    _ = try? await base.updateMetadata(identifier, to: metadata, baseVersion: now.version)
                }
                return .keep
            }
        },
    ]
}

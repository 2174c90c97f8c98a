public import FileProvider

/// Any provider, with faults that a test switches on and off through its ``plan``.
///
/// Without faults it is the provider it wraps: signals, metadata updates and invalidation go through when
/// the wrapped one has them.
public final class FaultInjectingProvider<Base: FileProviderExtension>: FileProviderExtension {
    public let base: Base
    public let plan: FaultPlan

    public init(_ base: Base, plan: FaultPlan = FaultPlan()) {
        self.base = base
        self.plan = plan
    }

    public func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item {
        try await call(.providePlaceholder) { () async throws(FileProviderError) in
            try await base.providePlaceholder(for: identifier)
        }
    }

    public func enumerateItems(
        in folder: ItemIdentifier, startingAt page: Page?
    ) async throws(FileProviderError) -> ItemPage {
        try await call(.enumerateItems) { () async throws(FileProviderError) in
            try await base.enumerateItems(in: folder, startingAt: page)
        }
    }

    public func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>,
        into sink: any ContentSink
    ) async throws(FileProviderError) {
        let fault = try await plan.begin(.startProvidingItem)
        if case .truncatedDownload(let count, let error) = fault {
            try await truncated(count, error, identifier, version, range, sink)
            return
        }
        try await base.startProvidingItem(
            identifier, version: version, range: range, into: FaultySink(sink, plan))
        if case .surplusBytes(let count) = fault {
            try await sink.write([UInt8](repeating: 0, count: count), at: range.upperBound)
        }
        if case .lostReply = fault { throw Self.replyLost }
    }

    public func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata,
        baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await call(.itemChanged) { () async throws(FileProviderError) in
            try await base.itemChanged(
                identifier, contents: FaultySource(base: contents, plan: plan), metadata: metadata,
                baseVersion: baseVersion)
        }
    }

    /// An error that is injected here makes the answer ``ContentDisposition/keep``: the hook throws nothing.
    public func stopProvidingItem(_ identifier: ItemIdentifier) async -> ContentDisposition {
        do {
            _ = try await plan.begin(.stopProvidingItem)
        } catch {
            return .keep
        }
        return await base.stopProvidingItem(identifier)
    }

    public func createItem(
        _ template: ItemTemplate, contents: (any ContentSource)?
    ) async throws(FileProviderError) -> Item {
        try await call(.createItem) { () async throws(FileProviderError) in
            try await base.createItem(template, contents: contents.map { FaultySource(base: $0, plan: plan) })
        }
    }

    public func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename,
        baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await call(.moveItem) { () async throws(FileProviderError) in
            try await base.moveItem(identifier, to: folder, as: filename, baseVersion: baseVersion)
        }
    }

    public func deleteItem(
        _ identifier: ItemIdentifier, baseVersion: ItemVersion
    ) async throws(FileProviderError) {
        try await call(.deleteItem) { () async throws(FileProviderError) in
            try await base.deleteItem(identifier, baseVersion: baseVersion)
        }
    }

    private func truncated(
        _ count: Int64, _ error: FileProviderError?, _ identifier: ItemIdentifier, _ version: ContentVersion,
        _ range: Range<Int64>, _ sink: any ContentSink
    ) async throws(FileProviderError) {
        let short = FaultySink(sink, plan, limit: count)
        do {
            try await base.startProvidingItem(identifier, version: version, range: range, into: short)
        } catch let cause {
            // What the truncation itself provoked is not news; a real error of the store is.
            guard short.wasTruncated else { throw cause }
        }
        if short.wasTruncated, let error { throw error }
    }

    private static var replyLost: FileProviderError {
        FileProviderError(.serverUnreachable, "A test has lost the store's reply.")
    }

    private func call<Result>(
        _ hook: Hook, _ body: () async throws(FileProviderError) -> Result
    ) async throws(FileProviderError) -> Result {
        let fault = try await plan.begin(hook)
        let result = try await body()
        if case .lostReply = fault { throw Self.replyLost }
        return result
    }
}

extension FaultInjectingProvider: ChangeSignaling where Base: ChangeSignaling {
    public func changeSignals() -> AsyncStream<ChangeSignal> { base.changeSignals() }
}

extension FaultInjectingProvider: MetadataUpdating where Base: MetadataUpdating {
    public func updateMetadata(
        _ identifier: ItemIdentifier, to metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await call(.updateMetadata) { () async throws(FileProviderError) in
            try await base.updateMetadata(identifier, to: metadata, baseVersion: baseVersion)
        }
    }
}

extension FaultInjectingProvider: Invalidatable where Base: Invalidatable {
    public func invalidate() async { await base.invalidate() }
}

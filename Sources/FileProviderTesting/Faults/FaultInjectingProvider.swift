public import FileProvider

/// Any provider, with faults that a test switches on and off through its ``plan``.
///
/// Without faults it behaves as the provider that it wraps, with all its optional features. Calls about the mounted
/// domain (`beginServing` and identifiers for URLs) have no faults.
public final class FaultInjectingProvider<Base: FileProviderExtension>: FileProviderExtension {
    /// The wrapped provider; direct calls have no faults.
    public let base: Base
    /// The faults.
    public let plan: FaultPlan

    /// Wraps a provider; several wrappers may share a plan.
    public init(_ base: Base, plan: FaultPlan = FaultPlan()) {
        self.base = base
        self.plan = plan
    }

    public func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item {
        try await call(.providePlaceholder) { [base] () async throws(FileProviderError) in
            try await base.providePlaceholder(for: identifier)
        }
    }

    public func enumerateItems(
        in folder: ItemIdentifier, startingAt page: Page?
    ) async throws(FileProviderError) -> ItemPage {
        try await call(.enumerateItems, twice: { ItemPage(items: $0.items + $0.items, nextPage: $0.nextPage) }) {
            [base] () async throws(FileProviderError) in
            try await base.enumerateItems(in: folder, startingAt: page)
        }
    }

    public func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>,
        into sink: any ContentSink
    ) async throws(FileProviderError) {
        let fault = try await plan.begin(.startProvidingItem)
        switch fault {
        case .truncatedDownload(let count, let error):
            return try await truncated(count, error, identifier, version, range, sink)
        case .disconnect(let count, _):
            return try await truncated(count, Self.connectionBroken, identifier, version, range, sink)
        case .lateAnswer(let gate): return try await late(gate, identifier, version, range, sink)
        default: break
        }
        var sink: any ContentSink = FaultySink(sink, plan)
        if case .duplicate = fault { sink = RepeatingSink(base: sink) }
        try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
        if case .surplusBytes(let count) = fault {
            try await sink.write([UInt8](repeating: 0, count: count), at: range.upperBound)
        }
        if case .lateEnd(let gate) = fault { try await gate.pass() }
        if case .lostReply = fault { throw Self.replyLost }
    }

    public func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata,
        baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await upload(.itemChanged, contents) { [base] (contents) async throws(FileProviderError) in
            try await base.itemChanged(
                identifier, contents: contents, metadata: metadata, baseVersion: baseVersion)
        }
    }

    /// An injected error makes the answer `ContentDisposition.keep`: the hook throws nothing.
    public func stopProvidingItem(_ identifier: ItemIdentifier) async -> ContentDisposition {
        let answer = try? await call(.stopProvidingItem) { [base] () async throws(FileProviderError) in
            await base.stopProvidingItem(identifier)
        }
        return answer ?? .keep
    }

    public func createItem(
        _ template: ItemTemplate, contents: (any ContentSource)?
    ) async throws(FileProviderError) -> Item {
        guard let contents else {
            return try await call(.createItem) { [base] () async throws(FileProviderError) in
                try await base.createItem(template, contents: nil)
            }
        }
        return try await upload(.createItem, contents) { [base] (contents) async throws(FileProviderError) in
            try await base.createItem(template, contents: contents)
        }
    }

    public func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename,
        baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await call(.moveItem) { [base] () async throws(FileProviderError) in
            try await base.moveItem(identifier, to: folder, as: filename, baseVersion: baseVersion)
        }
    }

    public func deleteItem(
        _ identifier: ItemIdentifier, baseVersion: ItemVersion
    ) async throws(FileProviderError) {
        try await call(.deleteItem) { [base] () async throws(FileProviderError) in
            try await base.deleteItem(identifier, baseVersion: baseVersion)
        }
    }
}

// MARK: - Faults of a call
extension FaultInjectingProvider {
    /// A call without contents.
    func call<Result: Sendable>(
        _ hook: Hook, twice: (Result) -> Result = { $0 },
        _ body: @escaping @Sendable () async throws(FileProviderError) -> Result
    ) async throws(FileProviderError) -> Result {
        let fault = try await plan.begin(hook)
        switch fault {
        case .disconnect(_, .undone): throw Self.connectionBroken
        case .disconnect(_, .done):
            _ = try await body()
            throw Self.connectionBroken
        case .disconnect(_, .doneLater(let gate)):
            plan.later(gate) { () async throws(FileProviderError) in _ = try await body() }
            throw Self.connectionBroken
        case .lateAnswer(let gate): return try await answer(body, after: gate)
        case .lostReply:
            _ = try await body()
            throw Self.replyLost
        case .duplicate: return twice(try await body())
        default: return try await body()
        }
    }

    /// A call that sends contents to the store.
    private func upload<Result: Sendable>(
        _ hook: Hook, _ contents: any ContentSource,
        _ body: @escaping @Sendable (any ContentSource) async throws(FileProviderError) -> Result
    ) async throws(FileProviderError) -> Result {
        let fault = try await plan.begin(hook)
        let slow = FaultySource(contents, plan)
        switch fault {
        case .disconnect(let count, let end) where contents.size > count:
            switch end {
            case .undone:
                let cut = FaultySource(contents, plan, limit: count)
                // An error that the cut caused becomes the broken connection; a refusal by the store does not.
                do throws(FileProviderError) {
                    return try await body(cut)
                } catch {
                    throw cut.wasCut ? Self.connectionBroken : error
                }
            case .done:
                _ = try await body(slow)
                throw Self.connectionBroken
            case .doneLater(let gate):
                // Read now: the contents are gone once the call has ended.
                let sent = BytesSource(try await slow.readAll(pieceSize: 64 << 10))
                plan.later(gate) { () async throws(FileProviderError) in _ = try await body(sent) }
                throw Self.connectionBroken
            }
        case .lateAnswer(let gate):
            return try await answer({ () async throws(FileProviderError) in try await body(slow) }, after: gate)
        case .lostReply:
            _ = try await body(slow)
            throw Self.replyLost
        default: return try await body(slow)
        }
    }

    /// The store's answer or error, when the gate is open.
    private func answer<Result: Sendable>(
        _ body: @Sendable () async throws(FileProviderError) -> Result, after gate: Gate
    ) async throws(FileProviderError) -> Result {
        do throws(FileProviderError) {
            let result = try await body()
            try await gate.pass()
            return result
        } catch {
            if error.code != .cancelled { try await gate.pass() }
            throw error
        }
    }

    private func truncated(
        _ count: Int64, _ error: FileProviderError?, _ identifier: ItemIdentifier, _ version: ContentVersion,
        _ range: Range<Int64>, _ sink: any ContentSink
    ) async throws(FileProviderError) {
        let short = FaultySink(sink, plan, limit: count)
        do throws(FileProviderError) {
            try await base.startProvidingItem(identifier, version: version, range: range, into: short)
        } catch {
            // An error that the truncation caused is dropped; a real error of the store is passed on.
            guard short.wasTruncated else { throw error }
        }
        if short.wasTruncated, let error { throw error }
    }

    private func late(
        _ gate: Gate, _ identifier: ItemIdentifier, _ version: ContentVersion, _ range: Range<Int64>,
        _ sink: any ContentSink
    ) async throws(FileProviderError) {
        let held = CollectingSink(range: range)
        try await answer(
            { [base] () async throws(FileProviderError) in
                try await base.startProvidingItem(identifier, version: version, range: range, into: held)
            }, after: gate)
        guard let bytes = held.bytes else { return }
        try await FaultySink(sink, plan).write(bytes, at: range.lowerBound)
    }

    private static var replyLost: FileProviderError {
        FileProviderError(.serverUnreachable, "a test has lost the store's reply")
    }

    private static var connectionBroken: FileProviderError {
        FileProviderError(.serverUnreachable, "a test has broken the connection")
    }
}

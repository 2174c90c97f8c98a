import FileProvider
import ItemCatalog
package import Trees

/// What a user says about pending changes and conflicts.
extension SyncEngine {
    /// Tries pending changes at once.
    ///
    /// - Parameters:
    ///   - items: these; nil: all.
    ///   - timeout: seconds to wait at most until each has been tried.
    /// - Returns: what of them is still pending then.
    package func retry(_ items: [ItemID]?, timeout: Double) async throws(SyncError) -> [ItemRecord] {
        let deadline = ContinuousClock.now + .seconds(timeout)
        do {
            let begin = FileTime.now
            let wanted = items.map(Set.init)
            try context.catalog.write { try $0.tryNow(items) }
            await queue.hurry()
            while true {
                if Task.isCancelled { throw SyncError.cancelled }
                let left = try pending().filter { wanted?.contains($0.id) ?? true }
                let isOver = try context.catalog.read { reader in
                    try left.allSatisfy { try hasBeenTried($0, since: begin, reader) }
                }
                // Nothing is sent now whatever one waits for.
                let isIdle = context.isReadOnly || context.pause.isOn
                if isOver || isIdle || .now >= deadline { return left }
                try? await Task.sleep(for: .milliseconds(50))
            }
        } catch {
            throw SyncError(error)
        }
    }

    /// Whether an attempt since then failed, or must wait for something else than the store.
    private func hasBeenTried(_ item: ItemRecord, since begin: FileTime, _ reader: Catalog.Reader) throws -> Bool {
        if item.readyAt == .farFuture { return true }
        if let failure = item.failure, failure.retryAt > begin { return true }
        // What is in a folder waits for it; a folder that is to go waits for what was in it.
        if let local = item.local, let folder = try reader.item(local.parent) {
            return try folder.identifier == nil && hasBeenTried(folder, since: begin, reader)
        }
        guard item.kind.isFolder else { return false }
        let inside = try reader.remoteChildren(of: item.id)
        return try !inside.isEmpty && inside.allSatisfy { try hasBeenTried($0, since: begin, reader) }
    }

    // MARK: Giving up

    /// What giving up the local change of an item would take away; changes nothing.
    package func discards(of item: ItemID) async throws(SyncError) -> [Discard] {
        try await afterWriters { try self.context.catalog.read { try $0.discards(of: item) } }
    }

    /// Waits for what passes by itself: of a program that has just closed a document the kernel tells us a moment
    /// later, and that downloaded bytes are here is written down when they are durable.
    private func afterWriters<T>(_ body: () throws -> T) async throws(SyncError) -> T {
        let begin = ContinuousClock.now
        while true {
            do { return try body() } catch {
                let longest: Duration
                switch (error as? CatalogError)?.code {
                case .beingWritten: longest = .seconds(1)
                case .incomplete: longest = .seconds(30)
                default: throw SyncError(error)
                }
                if .now - begin >= longest || Task.isCancelled { throw SyncError(error) }
                try? await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    /// Gives up the local change of an item: what the store has is shown again, as a placeholder.
    ///
    /// - Parameter agreed: what ``discards(of:)`` said and somebody agreed to; anything else is refused.
    package func discard(_ item: ItemID, agreed: [Discard]) async throws(SyncError) {
        let items = Set(agreed.compactMap(\.item)).union([item])
        try await reserving(items) {
            try self.context.catalog.write { try $0.discard(item, agreed: agreed, defaults: self.context.defaults) }
        }
        // The remote tree may be a little behind.
        let identifiers: [ItemIdentifier]
        do {
            identifiers = try context.catalog.read { reader in try items.compactMap { try reader.item($0)?.identifier }
            }
        } catch { return context.recheck(.everything, SyncError(error)) }
        let refresh = RemoteRefresh(context: context, fetcher: fetcher)
        Task(executorPreference: context.workers) {
            for identifier in identifiers { await refresh.refresh(identifier) }
        }
    }

    // MARK: Conflicts

    /// Which of two kept versions is to stay.
    package enum KeptVersion: Sendable { case mine, theirs, both }

    /// Two versions that a program has kept. Durable when this returns.
    package func noteConflict(original: InodeID, copy: InodeID) throws(SyncError) {
        do { try context.catalog.write { try $0.noteConflict(original: original, copy: copy) } } catch {
            throw SyncError(error)
        }
        changed()
    }

    /// Ends a conflict.
    ///
    /// `.mine`: the copy's bytes become the original's contents; the original stays the same item of the store.
    /// `.theirs`: the copy goes. `.both`: only the record of the conflict goes. What is durable when this returns is the
    /// local tree; the store follows, and loses the copy last.
    package func resolve(_ conflict: ConflictRecord, keeping kept: KeptVersion) async throws(SyncError) {
        if kept == .mine {
            _ = try await download(conflict.copy)
            // What goes by another name as well keeps the bytes that the store has now.
            let original = try looking { reader in
                try reader.item(conflict.original)?.inode.map { try reader.inode($0) }
            }
            if let original, original.linkCount > 1, original.extents != nil { _ = try await download(original.id) }
        }
        let copy = try looking { try $0.item(of: conflict.copy)?.id }
        try await reserving(Set([conflict.original, copy].compactMap { $0 })) {
            try self.context.catalog.write { writer in
                switch kept {
                case .mine: try writer.keepCopy(conflict)
                case .theirs: try writer.removeCopy(conflict)
                case .both: try writer.forgetConflict(conflict.id)
                }
            }
        }
        if kept == .mine { context.relabel(conflict.copy) }
        changed()
    }

    private func looking<T>(_ body: (Catalog.Reader) throws -> T) throws(SyncError) -> T {
        do { return try context.catalog.read(body) } catch { throw SyncError(error) }
    }

    /// Agrees to deletions in the store that are held, or puts what they took back there.
    ///
    /// - Parameters:
    ///   - item: and all that is in it.
    ///   - kept: `.theirs`: they are carried out here; else what is whole here is made anew in the store. What is durable
    ///     when this returns is the local tree.
    /// - Returns: how many items that was, and of how many it cannot be done, since not all of their bytes are here.
    package func resolveDeletions(
        within item: ItemID, keeping kept: KeptVersion
    ) async throws(SyncError) -> (items: Int, incomplete: Int) {
        let result: (items: Int, incomplete: Int)
        do {
            result = try context.catalog.write { writer in
                if kept == .theirs {
                    return (try writer.carryOutDeletions(within: item, defaults: context.defaults), 0)
                }
                let (restored, incomplete) = try writer.putBack(within: item)
                return (restored, incomplete)
            }
        } catch { throw SyncError(error) }
        changed()
        return result
    }

    /// Runs a change of items while the store is not sent anything of them.
    private func reserving(_ items: Set<ItemID>, _ body: () throws -> Void) async throws(SyncError) {
        guard await queue.reserve(items, seconds: 10) else {
            throw .provider(FileProviderError(.busy, "is just being sent to the store; try again when it is there"))
        }
        let result: Result<Void, SyncError>
        do { result = .success(try await afterWriters(body)) } catch { result = .failure(error) }
        await queue.release(items)
        try result.get()
    }
}

import FileProvider
import ItemCatalog
package import Trees

/// A user's decisions on pending changes and conflicts.
extension SyncEngine {
    /// Tries pending changes at once.
    ///
    /// - Parameters:
    ///   - items: nil: all pending items.
    ///   - timeout: the most seconds to wait until each item has been tried.
    /// - Returns: the items that are still pending.
    package func retry(_ items: [ItemID]?, timeout: Double) async throws(SyncError) -> [ItemRecord] {
        let deadline = ContinuousClock.now + .seconds(timeout)
        do {
            let begin = FileTime.now
            let wanted = items.map(Set.init)
            try mount.catalog.write { try $0.tryNow(items) }
            await queue.retryNow()
            while true {
                if Task.isCancelled { throw SyncError.cancelled }
                let left = try pending().filter { wanted?.contains($0.id) ?? true }
                let isOver = try mount.catalog.read { reader in
                    try left.allSatisfy { try hasBeenTried($0, since: begin, reader) }
                }
                // Nothing is sent now, however long the caller waits.
                let isIdle = mount.isReadOnly || switches.pause.isOn
                if isOver || isIdle || .now >= deadline { return left }
                try? await Task.sleep(for: .milliseconds(50))
            }
        } catch {
            throw SyncError(error)
        }
    }

    /// Whether an attempt since then failed, or the item must wait for something other than the store.
    private func hasBeenTried(_ item: ItemRecord, since begin: FileTime, _ reader: Catalog.Reader) throws -> Bool {
        if item.readyAt == .farFuture { return true }
        if let failure = item.failure, failure.retryAt > begin { return true }
        // An item in a folder waits for the folder; a folder to be deleted waits for its entries.
        if let local = item.local, let folder = try reader.item(local.parent) {
            return try folder.identifier == nil && hasBeenTried(folder, since: begin, reader)
        }
        guard item.kind.isFolder else { return false }
        let inside = try reader.remoteChildren(of: item.id)
        return try !inside.isEmpty && inside.allSatisfy { try hasBeenTried($0, since: begin, reader) }
    }

    // MARK: Giving up

    /// What would be lost with the local change of an item. Changes nothing.
    package func discards(of item: ItemID) async throws(SyncError) -> [Discard] {
        try await afterWriters { try self.mount.catalog.read { try $0.discards(of: item) } }
    }

    /// Retries for a while, because some refusals pass by themselves: the kernel reports a program's close a moment
    /// late, and downloaded bytes are recorded only once they are durable.
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

    /// Gives up the local change of an item: the store's version is shown again, as a placeholder.
    ///
    /// - Parameter agreed: the answer of ``discards(of:)`` that the user agreed to; refused if it is different now.
    package func discard(_ item: ItemID, agreed: [Discard]) async throws(SyncError) {
        let items = Set(agreed.compactMap(\.item)).union([item])
        try await reserving(items) {
            try self.mount.catalog.write { try $0.discard(item, agreed: agreed, defaults: self.mount.defaults) }
        }
        // The remote tree may be a little out of date.
        let identifiers: [ItemIdentifier]
        do {
            identifiers = try mount.catalog.read { reader in try items.compactMap { try reader.item($0)?.identifier }
            }
        } catch { return remote.recheck(.everything, SyncError(error)) }
        let refresh = RemoteRefresh(mount: mount, client: client, remote: remote, fetcher: fetcher)
        Task(executorPreference: mount.workers) {
            for identifier in identifiers { await refresh.refresh(identifier) }
        }
    }

    // MARK: Conflicts

    /// Which of two kept versions stays.
    package enum KeptVersion: Sendable { case mine, theirs, both }

    /// Records two versions that a program has kept. Durable on return.
    package func noteConflict(original: InodeID, copy: InodeID) throws(SyncError) {
        do { try mount.catalog.write { try $0.noteConflict(original: original, copy: copy) } } catch {
            throw SyncError(error)
        }
        changed()
    }

    /// Ends a conflict.
    ///
    /// `.mine`: the copy's bytes become the original's contents; the original stays the same item in the store.
    /// `.theirs`: the copy is deleted. `.both`: only the record of the conflict is deleted. On return the local tree is
    /// durable; the store follows, and loses the copy last.
    package func resolve(_ conflict: ConflictRecord, keeping kept: KeptVersion) async throws(SyncError) {
        if kept == .mine {
            _ = try await download(conflict.copy)
            // An original with another hard link keeps the bytes that the store has now.
            let original = try reading { reader in
                try reader.item(conflict.original)?.inode.map { try reader.inode($0) }
            }
            if let original, original.linkCount > 1, original.extents != nil { _ = try await download(original.id) }
        }
        let copy = try reading { try $0.item(of: conflict.copy)?.id }
        try await reserving(Set([conflict.original, copy].compactMap { $0 })) {
            try self.mount.catalog.write { writer in
                switch kept {
                case .mine: try writer.keepCopy(conflict)
                case .theirs: try writer.removeCopy(conflict)
                case .both: try writer.forgetConflict(conflict.id)
                }
            }
        }
        if kept == .mine { mount.relabel(conflict.copy) }
        changed()
    }

    private func reading<T>(_ body: (Catalog.Reader) throws -> T) throws(SyncError) -> T {
        do { return try mount.catalog.read(body) } catch { throw SyncError(error) }
    }

    /// Carries out held deletions of the store, or makes the deleted items there again.
    ///
    /// - Parameters:
    ///   - item: includes all items within it.
    ///   - kept: `.theirs`: the deletions are carried out here; otherwise the items that are whole here are made again
    ///     in the store. The local tree is durable on return.
    /// - Returns: the number of items done, and the number that cannot be, because not all of their bytes are here.
    package func resolveDeletions(
        within item: ItemID, keeping kept: KeptVersion
    ) async throws(SyncError) -> (items: Int, incomplete: Int) {
        let result: (items: Int, incomplete: Int)
        do {
            result = try mount.catalog.write { writer in
                if kept == .theirs {
                    return (try writer.carryOutDeletions(within: item, defaults: mount.defaults), 0)
                }
                let (restored, incomplete) = try writer.putBack(within: item)
                return (restored, incomplete)
            }
        } catch { throw SyncError(error) }
        changed()
        return result
    }

    /// Runs a change of items while no step sends them to the store.
    private func reserving(_ items: Set<ItemID>, _ body: () throws -> Void) async throws(SyncError) {
        guard await queue.reserve(items, seconds: 10) else {
            throw .provider(FileProviderError(.busy, "is being sent to the store; try again in a moment"))
        }
        let result: Result<Void, SyncError>
        do { result = .success(try await afterWriters(body)) } catch { result = .failure(error) }
        await queue.release(items)
        try result.get()
    }
}

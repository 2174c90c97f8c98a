import ContentStore
import FileProvider
import ItemCatalog

/// Drops local bytes that the provider has as well.
struct Evictor {
    let context: SyncContext

    func evict(_ id: InodeID) throws -> Int64 {
        let inode = try context.catalog.read { try $0.inode(id) }
        guard inode.kind == .document else { return 0 }
        let generation = GenerationID(inode: id.rawValue, number: inode.generation)
        try refuseIfInUse(inode, generation)
        let freed = inode.bytesPresent
        // Decided in one transaction: nothing may have become modified or opened since.
        let evicted: Result<Int64, FileProviderError> = try context.change { writer in
            let inode = try writer.inode(id)
            guard let item = try writer.item(of: id), !item.isModified, item.identifier != nil, inode.writing == nil
            else { return .failure(refusal("has changes that are not in the store yet; run hydrant sync first")) }
            if item.isPinned { return .failure(refusal("is pinned; unpin it first")) }
            if context.volume?.isOpen(id) == true { return .failure(refusal("is open in a program")) }
            return .success(try writer.evict(id))
        }
        let old = try evicted.get()
        context.store.remove(GenerationID(inode: id.rawValue, number: old))
        return freed
    }

    private func refuseIfInUse(_ inode: InodeRecord, _ generation: GenerationID) throws {
        if context.volume?.isOpen(inode.id) == true { throw refusal("is open in a program") }
        // A mapping may outlive the last close: ask the kernel for a lease on the file itself.
        guard context.store.status(generation) != nil else { return }
        let content = try context.open(inode)
        if content.isUsedElsewhere { throw refusal("is still mapped by a program") }
    }

    private func refusal(_ why: String) -> FileProviderError { FileProviderError(.busy, why) }
}

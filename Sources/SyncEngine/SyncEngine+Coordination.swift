import ContentStore
import FileProvider
package import ItemCatalog
import Synchronization

/// Documents that somebody else sends: whoever writes under the provider's purpose.
final class SentByOthers: Sendable {
    private let items = Mutex<[ItemID: Int]>([:])
    /// Of these, who wrote them may have sent them: that is looked at before they are sent from here.
    private let doubtful = Mutex<Set<ItemID>>([])

    func hold(_ item: ItemID) {
        items.withLock { $0[item, default: 0] += 1 }
        _ = doubtful.withLock { $0.insert(item) }
    }

    func release(_ item: ItemID) {
        items.withLock { items in
            let left = items[item, default: 1] - 1
            items[item] = left > 0 ? left : nil
        }
    }

    func isHeld(_ item: ItemID) -> Bool { items.withLock { $0[item] != nil } }

    func isDoubtful(_ item: ItemID) -> Bool { doubtful.withLock { $0.contains(item) } }

    func settled(_ item: ItemID) { _ = doubtful.withLock { $0.remove(item) } }
}

extension SyncEngine {
    /// Copies a document as it is now, which must be downloaded, to a file of its own that only its owner may read.
    package func copy(_ inode: InodeID, to path: String) throws {
        try context.store.snapshot(of: try context.openCurrent(inode).content, at: path)
    }

    /// What is changed of these documents is not sent until ``releaseUploads(of:when:)``: whoever changes them sends them.
    package func holdUploads(of inodes: [InodeID]) -> [ItemID] {
        let items = inodes.compactMap { inode in (try? context.catalog.read { try $0.item(of: inode) })??.id }
        for item in items { context.sentByOthers.hold(item) }
        return items
    }

    /// What the store has by now of these documents counts as sent, if it is what is here. The rest is sent from here when
    /// nobody else can do it any more: nothing that was closed waits for ever.
    ///
    /// - Parameter isOver: whoever wrote them has ended, or says that he is done. Asked about once a second.
    package func releaseUploads(of items: [ItemID], when isOver: @Sendable () async -> Bool) async {
        var left = items
        while true {
            let isLast = await isOver()
            for item in left {
                guard isLast ? true : await isInTheStore(item) else { continue }
                context.sentByOthers.release(item)
                left.removeAll { $0 == item }
            }
            changed()
            if left.isEmpty { return }
            try? await Task.sleep(for: .seconds(1))
        }
    }

    /// Somebody has put another version there, or nothing was changed here.
    private func isInTheStore(_ item: ItemID) async -> Bool {
        guard let row = try? context.catalog.read({ try $0.item(item) }), row.isModified else { return true }
        guard let identifier = row.identifier else { return false }
        let there = try? await context.provider.providePlaceholder(for: identifier)
        return there.map { $0.version.content != row.baseVersion?.content } ?? false
    }
}

extension StepRunner {
    /// Whether the store has just what is here, from whoever wrote it.
    func wasSentByOthers(_ item: ItemRecord, _ prepared: Prepared) async throws -> Item? {
        guard context.sentByOthers.isDoubtful(item.id), let identifier = item.identifier else { return nil }
        let there = try await placeholder(identifier, item)
        defer { context.sentByOthers.settled(item.id) }
        guard there.version.content != item.baseVersion?.content, try await compare(there, item, prepared) == .same
        else {
            return nil
        }
        return there
    }
}

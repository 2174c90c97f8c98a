import ContentStore
package import FileProvider
import ItemCatalog
import Locking
import Logging
package import Trees

/// Items that another program sends itself, because it writes under the provider's purpose identifier.
package enum SentByOthersRoot: Hashable, Sendable {
    /// A document, or a folder with all that is in it.
    case item(ItemID)
    /// The item that will be made under this name.
    case name(folder: ItemID, Filename)
}

final class SentByOthers: Sendable {
    private let roots = AdaptiveMutex<[SentByOthersRoot: Int]>([:])
    /// Items whose writer may have sent them: compare with the store before sending them from here.
    private let maybeSent = AdaptiveMutex<Set<ItemID>>([])

    func hold(_ root: SentByOthersRoot) { roots.withLock { $0[root, default: 0] += 1 } }

    func release(_ root: SentByOthersRoot) {
        roots.withLock { roots in
            let left = roots[root, default: 1] - 1
            roots[root] = left > 0 ? left : nil
        }
    }

    var held: Set<SentByOthersRoot> { roots.withLock { Set($0.keys) } }

    func markMaybeSent(_ item: ItemID) { _ = maybeSent.withLock { $0.insert(item) } }

    func isMaybeSent(_ item: ItemID) -> Bool { maybeSent.withLock { $0.contains(item) } }

    func settled(_ item: ItemID) { _ = maybeSent.withLock { $0.remove(item) } }
}

extension SyncEngine {
    /// Downloads a document and copies its present contents to a new file that only the file's owner may read.
    package func copy(_ inode: InodeID, to path: String) async throws {
        for attempt in 1...5 {
            _ = try await download(inode)
            do {
                let content = try mount.openCurrent(inode).content
                // The store may have replaced the document just now.
                guard content.isComplete else { throw SyncError.superseded }
                return try await copy(content, to: path)
            } catch {
                let mayPass = (error as? ContentError)?.code == .changed || error is SyncError
                guard mayPass, attempt < 5 else { throw error }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    /// Makes room for the copy as for a download, when it goes to the same disk.
    private func copy(_ content: ContentFile, to path: String) async throws {
        let count = try mount.store.isOnItsDisk(path) ? Int(content.status().allocated) : 0
        try await mount.room.begin(count)
        defer { mount.room.end(count) }
        try mount.store.snapshot(of: content, at: path)
    }

    /// Does not send changes of these items until ``releaseUploads(of:when:)``: the program that makes the changes
    /// sends them.
    package func holdUploads(of roots: Set<SentByOthersRoot>) { for root in roots { uploads.sentByOthers.hold(root) } }

    /// Counts documents as sent when the store has the same contents as this machine. Sends the others once their
    /// writer has ended, so that no closed document waits for ever.
    ///
    /// - Parameter isOver: whether the writer has ended. Asked about once a second.
    package func releaseUploads(of roots: Set<SentByOthersRoot>, when isOver: @Sendable () async -> Bool) async {
        var left = roots
        var compared: [ItemID: Compared] = [:]
        while true {
            let isLast = await isOver()
            for root in left {
                guard isLast ? true : await isInTheStore(root, &compared) else { continue }
                if case .item(let id) = root {
                    for item in (try? mount.catalog.read { try $0.pending(within: id) }) ?? [] {
                        uploads.sentByOthers.markMaybeSent(item)
                    }
                }
                uploads.sentByOthers.release(root)
                left.remove(root)
            }
            changed()
            if left.isEmpty { return }
            try? await Task.sleep(for: .seconds(1))
        }
    }

    /// The local revision and the store's version that were found different, so that the version is not downloaded for
    /// that again.
    private struct Compared: Equatable {
        var revision: Int64
        var version: ContentVersion
    }

    private func isInTheStore(_ root: SentByOthersRoot, _ compared: inout [ItemID: Compared]) async -> Bool {
        // A new item has no identifier to look for yet: wait for the end of its writer.
        guard case .item(let id) = root, let pending = try? mount.catalog.read({ try $0.pending(within: id) }) else {
            return false
        }
        for item in pending {
            do { if try await !isInTheStore(item, &compared) { return false } } catch { return false }
        }
        return true
    }

    private func isInTheStore(_ id: ItemID, _ compared: inout [ItemID: Compared]) async throws -> Bool {
        guard let row = try mount.catalog.read({ try $0.item(id) }), row.isModified else { return true }
        guard let identifier = row.identifier, let inode = row.inode, row.local == row.base else { return false }
        let there = try await client.quietPlaceholder(for: identifier)
        let now = Compared(revision: row.contentRevision, version: there.version.content)
        guard there.version.content != row.baseVersion?.content, compared[id] != now else { return false }
        compared[id] = now
        let content = try mount.openCurrent(inode).content
        guard content.isComplete else { return false }
        let digest = try SentContent(try mount.store.original(of: content))
        return try await RemoteComparison(mount: mount, client: client, transfers: transfers).matches(there, digest)
    }
}

extension StepRunner {
    /// The store's item if it has the same contents as this machine, no matter which program sent them.
    func wasSentByOthers(_ item: ItemRecord, _ prepared: Prepared) async throws -> Item? {
        guard uploads.sentByOthers.isMaybeSent(item.id), let identifier = item.identifier else { return nil }
        let there: Item
        do { there = try await placeholder(identifier, item) } catch {
            // The upload will find out why the item is gone.
            guard error.code == .noSuchItem else { throw error }
            uploads.sentByOthers.settled(item.id)
            return nil
        }
        let isTheSame =
            there.version.content == item.baseVersion?.content
            ? false : try await compare(there, item, prepared) == .same
        uploads.sentByOthers.settled(item.id)
        return isTheSame ? there : nil
    }
}

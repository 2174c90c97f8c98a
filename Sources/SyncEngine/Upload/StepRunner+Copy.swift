import ContentStore
import FileProvider
import Hashing
import ItemCatalog
import Logging
import Trees

/// Documents copied here from others that the store has: the store makes the copy itself.
extension StepRunner {
    /// Makes an item at the provider: by a copy in the store where possible, else by sending the contents.
    func make(_ item: ItemRecord, _ template: ItemTemplate, _ prepared: Prepared?) async throws -> Item {
        if let copy = try await copy(item, template, prepared) { return copy }
        return try await create(item, template, prepared?.source)
    }

    /// Nil when the document must be uploaded.
    private func copy(_ item: ItemRecord, _ template: ItemTemplate, _ prepared: Prepared?) async throws -> Item? {
        guard client.copiesItems, let inode = item.inode, let prepared,
            let source = uploads.copies.source(of: inode)
        else { return nil }
        guard let original = try await original(source, prepared) else {
            // The copy or the original has been changed since.
            uploads.copies.forget(inode)
            return nil
        }
        let copy: Item
        do {
            copy = try await client.copyItem(
                original.identifier, version: original.version, as: template, bytes: prepared.source.size,
                at: mount.path(of: item))
        } catch {
            // The name may be taken by our own copy, whose reply was lost.
            let otherwise: Set<FileProviderError.Code> = [
                .filenameCollision, .serverUnreachable, .cancelled, .notAuthenticated, .insufficientQuota, .readOnly,
            ]
            if otherwise.contains(error.code) { throw error }
            mount.logger.info(
                "the store cannot copy a document: it is uploaded instead",
                metadata: ["item": "\(mount.path(of: item))", "error": "\(error)"])
            uploads.copies.forget(inode)
            return nil
        }
        uploads.copies.forget(inode)
        // The next attempt finds the copy under the name and compares.
        guard copy.kind.isDocument, copy.size == prepared.source.size else {
            throw SyncError.untrusted(
                "the store's copy has \(copy.size) bytes instead of \(prepared.source.size); report it to the "
                    + "provider's author")
        }
        return copy
    }

    /// The document that a copy was made from, if the original, here and as the store confirmed it, still has the bytes
    /// to be sent.
    private func original(_ source: InodeID, _ prepared: Prepared) async throws -> Original? {
        guard let before = try confirmed(source), before.inode.size == prepared.source.size else { return nil }
        let content: ContentFile
        do { content = try mount.openCurrent(source).content } catch { return nil }
        guard content.isComplete,
            try await digest(content, size: before.inode.size) == prepared.source.digest.value.hash
        else { return nil }
        // A writer may have come meanwhile.
        guard let after = try confirmed(source), after.inode.generation == before.inode.generation,
            after.original == before.original
        else { return nil }
        return after.original
    }

    private struct Original: Equatable {
        var identifier: ItemIdentifier
        var version: ContentVersion
    }

    private func confirmed(_ id: InodeID) throws -> (inode: InodeRecord, original: Original)? {
        let (inode, item) = try mount.catalog.read { (try $0.inodeIfPresent(id), try $0.item(of: id)) }
        guard let inode, inode.kind == .document, inode.writing == nil, let item, item.contentRevision == 0,
            let identifier = item.identifier, let version = item.baseVersion
        else { return nil }
        return (inode, Original(identifier: identifier, version: version.content))
    }

    private func digest(_ content: ContentFile, size: Int64) throws -> [UInt8] {
        let digest = try SHA256.hash(first: size) { offset, count in
            try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                filled = try content.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            }
        }
        return digest.map { Array($0) } ?? []
    }
}

import FileProvider
import FileProviderTesting
import Glibc
package import MountHarness
package import S3Provider

/// A bucket as the other client of a scenario sees it: each call is a request or two, and what it changes is there when
/// it returns.
package struct BucketFileSystem: FileSystemUnderTest {
    private let provider: S3Provider
    package init(_ provider: S3Provider) { self.provider = provider }

    private func ask<T: Sendable>(
        _ path: FSPath, _ body: @escaping @Sendable () async throws(FileProviderError) -> T
    ) throws(FSError) -> T {
        do { return try blocking { try await body() } } catch {
            guard let error = error as? FileProviderError else { throw FSError(EIO, "\(path): \(error)") }
            let number: Int32 =
                switch error.code {
                case .noSuchItem: ENOENT
                case .filenameCollision: EEXIST
                case .directoryNotEmpty: ENOTEMPTY
                default: EIO
                }
            throw FSError(number, "\(path): \(error)")
        }
    }

    /// Nil: nothing has the name.
    private func find(_ path: FSPath) throws(FSError) -> Item? {
        if path.names.isEmpty {
            return try ask(path) { () async throws(FileProviderError) in
                try await provider.providePlaceholder(for: .rootContainer)
            }
        }
        for end in ["", "/"] {
            let identifier = ItemIdentifier(path.description + end)
            do throws(FSError) {
                return try ask(path) { () async throws(FileProviderError) in
                    try await provider.providePlaceholder(for: identifier)
                }
            } catch { guard error.errno == ENOENT else { throw error } }
        }
        return nil
    }

    private func item(_ path: FSPath) throws(FSError) -> Item {
        guard let item = try find(path) else { throw FSError(ENOENT, "\(path)") }
        return item
    }

    private func unsupported(_ path: FSPath) -> FSError { FSError(ENOTSUP, "\(path)") }

    package func list(_ folder: FSPath) throws(FSError) -> [[UInt8]] {
        let identifier = try item(folder).identifier
        return try ask(folder) { () async throws(FileProviderError) -> [[UInt8]] in
            var names: [[UInt8]] = []
            var page: Page?
            repeat {
                let part = try await provider.enumerateItems(in: identifier, startingAt: page)
                names += part.items.map { Array($0.filename.bytes) }
                page = part.nextPage
            } while page != nil
            return names
        }
    }

    package func stat(_ path: FSPath) throws(FSError) -> FSStat {
        let item = try item(path)
        let kind: FSStat.Kind = item.kind.isFolder ? .folder : item.kind.isDocument ? .document : .link
        return FSStat(
            inode: 0, kind: kind, mode: UInt32(item.posixPermissions ?? 0), links: 1, size: item.size, blocks: 0,
            modified: item.contentModificationDate.nanoseconds)
    }

    package func read(_ path: FSPath, at offset: Int64, _ count: Int) throws(FSError) -> [UInt8] {
        let item = try item(path)
        let end = min(item.size, offset + Int64(count))
        guard offset < end else { return [] }
        return try ask(path) { () async throws(FileProviderError) -> [UInt8] in
            let sink = CollectingSink(range: offset..<end)
            try await provider.startProvidingItem(
                item.identifier, version: item.version.content, range: offset..<end, into: sink)
            return sink.bytes ?? []
        }
    }

    package func write(_ path: FSPath, _ bytes: [UInt8], at offset: Int64?, flags: Int32) throws(FSError) {
        guard offset == 0, flags & O_TRUNC != 0 else { throw unsupported(path) }
        let name = Filename(bytes: path.names.last ?? [])
        let known = try find(path)
        let folder = try item(path.parent).identifier
        try ask(path) { () async throws(FileProviderError) in
            let now = FileTime(seconds: 1_700_000_000)
            if let known {
                _ = try await provider.itemChanged(
                    known.identifier, contents: BytesSource(bytes),
                    metadata: ItemMetadata(contentModificationDate: now), baseVersion: known.version)
            } else {
                _ = try await provider.createItem(
                    ItemTemplate(
                        parentIdentifier: folder, filename: name, kind: .document, contentModificationDate: now),
                    contents: BytesSource(bytes))
            }
        }
    }

    package func rename(_ path: FSPath, to newPath: FSPath, noReplace: Bool) throws(FSError) {
        let (old, folder) = (try item(path), try item(newPath.parent).identifier)
        if let there = try find(newPath) {
            guard !noReplace else { throw FSError(EEXIST, "\(newPath)") }
            try delete(newPath, there)
        }
        try ask(path) { () async throws(FileProviderError) in
            _ = try await provider.moveItem(
                old.identifier, to: folder, as: Filename(bytes: newPath.names.last ?? []), baseVersion: old.version)
        }
    }

    private func delete(_ path: FSPath, _ item: Item) throws(FSError) {
        try ask(path) { () async throws(FileProviderError) in
            try await provider.deleteItem(item.identifier, baseVersion: item.version)
        }
    }

    package func unlink(_ path: FSPath) throws(FSError) { try delete(path, try item(path)) }
    package func rmdir(_ path: FSPath) throws(FSError) { try delete(path, try item(path)) }

    package func mkdir(_ path: FSPath, _ mode: UInt32) throws(FSError) { try make(path, .folder) }
    package func symlink(_ path: FSPath, to target: [UInt8]) throws(FSError) {
        try make(path, .symbolicLink(target: target))
    }

    private func make(_ path: FSPath, _ kind: ItemKind) throws(FSError) {
        let folder = try item(path.parent).identifier
        try ask(path) { () async throws(FileProviderError) in
            _ = try await provider.createItem(
                ItemTemplate(
                    parentIdentifier: folder, filename: Filename(bytes: path.names.last ?? []), kind: kind,
                    contentModificationDate: FileTime(seconds: 1_700_000_000)), contents: nil)
        }
    }

    package func readlink(_ path: FSPath) throws(FSError) -> [UInt8] {
        guard case .symbolicLink(let target) = try item(path).kind else { throw FSError(EINVAL, "\(path)") }
        return target
    }

    package func chmod(_ path: FSPath, _ mode: UInt32) throws(FSError) {
        let item = try item(path)
        try update(
            path, item,
            ItemMetadata(contentModificationDate: item.contentModificationDate, posixPermissions: UInt16(mode)))
    }

    package func setAttribute(_ name: String, to value: [UInt8], of path: FSPath) throws(FSError) {
        let item = try item(path)
        var attributes = item.extendedAttributes ?? [:]
        attributes[name] = value
        try update(
            path, item,
            ItemMetadata(contentModificationDate: item.contentModificationDate, extendedAttributes: attributes))
    }

    private func update(_ path: FSPath, _ item: Item, _ metadata: ItemMetadata) throws(FSError) {
        try ask(path) { () async throws(FileProviderError) in
            _ = try await provider.updateMetadata(item.identifier, to: metadata, baseVersion: item.version)
        }
    }

    // MARK: Not in a bucket

    package func synchronize(_ path: FSPath) throws(FSError) {}
    package func truncate(_ path: FSPath, to size: Int64) throws(FSError) { throw unsupported(path) }
    package func setModified(_ path: FSPath, _ nanoseconds: Int64) throws(FSError) { throw unsupported(path) }
    package func hardLink(_ path: FSPath, to newPath: FSPath) throws(FSError) { throw unsupported(path) }
    package func limits() throws(FSError) -> (longestName: Int, blocks: UInt64) { throw unsupported(.root) }
}

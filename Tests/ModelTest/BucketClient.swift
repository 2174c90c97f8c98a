import FileProvider
import FileProviderTesting
import Glibc
import MountHarness
import S3Harness
import S3Provider

/// Works in a bucket that keeps conditions: so each change replaces or removes exactly what it has read before.
final class BucketClient: OtherClient {
    private let provider: S3Provider
    init(_ provider: S3Provider) { self.provider = provider }

    private func ask<T: Sendable>(
        _ body: @escaping @Sendable (S3Provider) async throws(FileProviderError) -> T
    ) throws -> T {
        try blocking { [provider] in try await body(provider) }
    }

    /// As a document or a folder; nil: nothing has the name.
    private func find(_ path: String) throws -> Item? {
        for identifier in path.isEmpty
            ? [ItemIdentifier.rootContainer] : [ItemIdentifier(path), ItemIdentifier(path + "/")]
        {
            do {
                return try ask { provider async throws(FileProviderError) in
                    try await provider.providePlaceholder(for: identifier)
                }
            } catch let error as FileProviderError { guard error.code == .noSuchItem else { throw error } }
        }
        return nil
    }

    /// Nil: it has changed, or is gone.
    private func bytes(_ item: Item) throws -> [UInt8]? {
        if item.size == 0 { return [] }
        do {
            return try ask { provider async throws(FileProviderError) -> [UInt8]? in
                let sink = CollectingSink(range: 0..<item.size)
                try await provider.startProvidingItem(
                    item.identifier, version: item.version.content, range: 0..<item.size, into: sink)
                return sink.bytes
            }
        } catch let error as FileProviderError {
            guard [.noSuchItem, .versionMismatch].contains(error.code) else { throw error }
            return nil
        }
    }

    func read(_ path: String) -> [UInt8]? {
        guard let item = try? find(path), item.kind.isDocument else { return nil }
        return try? bytes(item)
    }

    func tree() throws -> ModelFile { try tree(.rootContainer) ?? ModelFile(.folder, mode: 0o755) }

    /// Nil: the folder is gone.
    private func tree(_ folder: ItemIdentifier) throws -> ModelFile? {
        let items: [Item]
        do {
            items = try ask { provider async throws(FileProviderError) -> [Item] in
                var (items, page): ([Item], Page?) = ([], nil)
                repeat {
                    let part = try await provider.enumerateItems(in: folder, startingAt: page)
                    items += part.items
                    page = part.nextPage
                } while page != nil
                return items
            }
        } catch let error as FileProviderError {
            guard error.code == .noSuchItem else { throw error }
            return nil
        }
        let file = ModelFile(.folder, mode: 0o755)
        for item in items {
            let child: ModelFile?
            switch item.kind {
            case .folder: child = try tree(item.identifier)
            case .symbolicLink(let target): child = ModelFile(.link, target, mode: 0o777)
            default: child = try bytes(item).map { ModelFile(.document, $0, mode: 0o644) }
            }
            guard let child else { continue }
            child.names = 1
            file.children[item.filename.description] = child
        }
        return file
    }

    // MARK: Changes

    private static let refusals: [FileProviderError.Code: Int32] = [
        .noSuchItem: ENOENT, .filenameCollision: EEXIST, .directoryNotEmpty: ENOTEMPTY, .versionMismatch: EAGAIN,
        .busy: EBUSY, .cannotSynchronize: EINVAL,
    ]

    /// Nil: the store's answer is that somebody else was quicker.
    private func attempt<T: Sendable>(
        _ body: @escaping @Sendable (S3Provider) async throws(FileProviderError) -> T
    ) throws -> Answer? {
        do {
            _ = try ask(body)
            return .done
        } catch let error as FileProviderError {
            if error.code == .versionMismatch { return nil }
            guard let number = Self.refusals[error.code] else { throw error }
            return .failed(number)
        }
    }

    private static let now = FileTime(seconds: 1_700_000_000)

    private func place(_ path: String) throws -> (folder: ItemIdentifier, name: Filename)? {
        let (folder, name) = Model.split(path)
        guard let parent = try find(folder), parent.kind.isFolder else { return nil }
        return (parent.identifier, Filename(name))
    }

    func put(_ bytes: [UInt8], at path: String) throws -> (answer: Answer, replaced: [UInt8]?) {
        while true {
            if let there = try find(path) {
                if there.kind.isFolder { return (.failed(EISDIR), nil) }
                guard there.kind.isDocument, let old = try self.bytes(there) else { continue }
                let answer = try attempt { provider async throws(FileProviderError) in
                    try await provider.itemChanged(
                        there.identifier, contents: BytesSource(bytes),
                        metadata: ItemMetadata(contentModificationDate: Self.now), baseVersion: there.version)
                }
                if let answer, answer != .failed(ENOENT) { return (answer, answer == .done ? old : nil) }
                continue
            }
            guard let place = try place(path) else { return (.failed(ENOENT), nil) }
            let answer = try attempt { provider async throws(FileProviderError) in
                try await provider.createItem(
                    ItemTemplate(
                        parentIdentifier: place.folder, filename: place.name, kind: .document,
                        contentModificationDate: Self.now), contents: BytesSource(bytes))
            }
            if let answer, answer != .failed(EEXIST) { return (answer, nil) }
        }
    }

    func delete(_ path: String) throws -> (answer: Answer, removed: [UInt8]?) {
        while true {
            guard let there = try find(path) else { return (.failed(ENOENT), nil) }
            var old: [UInt8]?
            if there.kind.isDocument {
                old = try bytes(there)
                if old == nil { continue }
            }
            let answer = try attempt { provider async throws(FileProviderError) in
                try await provider.deleteItem(there.identifier, baseVersion: there.version)
            }
            if let answer { return (answer, answer == .done ? old : nil) }
        }
    }

    func move(_ path: String, to new: String) throws -> Answer {
        guard let there = try find(path), let place = try place(new) else { return .failed(ENOENT) }
        return try attempt { provider async throws(FileProviderError) in
            try await provider.moveItem(
                there.identifier, to: place.folder, as: place.name, baseVersion: there.version)
        } ?? .failed(EAGAIN)
    }

    func makeFolder(_ path: String) throws -> Answer {
        guard let place = try place(path) else { return .failed(ENOENT) }
        return try attempt { provider async throws(FileProviderError) in
            try await provider.createItem(
                ItemTemplate(
                    parentIdentifier: place.folder, filename: place.name, kind: .folder,
                    contentModificationDate: Self.now), contents: nil)
        } ?? .failed(EEXIST)
    }

    func setAttribute(_ path: String, _ numbers: [Int]) throws -> Answer {
        guard let there = try find(path) else { return .failed(ENOENT) }
        var attributes = there.extendedAttributes ?? [:]
        attributes[Model.attributeNames[numbers[0] % 2]] = Contents.bytes(numbers[1], numbers[2])
        let metadata = ItemMetadata(
            contentModificationDate: there.contentModificationDate, extendedAttributes: attributes)
        return try attempt { provider async throws(FileProviderError) in
            try await provider.updateMetadata(there.identifier, to: metadata, baseVersion: there.version)
        } ?? .failed(EAGAIN)
    }
}

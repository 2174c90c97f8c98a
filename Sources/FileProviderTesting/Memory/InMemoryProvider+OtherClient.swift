public import FileProvider

/// An item at a path of an ``InMemoryProvider``.
public enum StoredEntry: Hashable, Sendable {
    /// A folder, with any contents.
    case folder
    /// A document with its bytes.
    case document([UInt8])
    /// A symbolic link and its target.
    case link(target: [UInt8])
}

// The store's other client. Paths start at the topmost folder, with or without a leading slash; the topmost folder
// itself is the empty path. These calls are not in the journal; every change is signalled.
extension InMemoryProvider {
    /// Creates or replaces a document, and creates missing folders of the path.
    ///
    /// - Parameter modified: its modification date; nil: now.
    @discardableResult
    public func put(
        _ path: String, _ bytes: some Sequence<UInt8>, modified: FileTime? = nil
    ) throws(FileProviderError) -> Item {
        let bytes = Array(bytes)
        let metadata = ItemMetadata(contentModificationDate: modified ?? Self.now)
        let (item, signals) = try withStore { store throws(FileProviderError) in
            var signals: [ChangeSignal] = []
            let names = Self.names(path)
            let folder = try Self.makeFolders(names.dropLast(), &store, &signals)
            guard let name = names.last else { throw Self.missing(path) }
            if let old = store.child(name, in: folder) {
                signals.append(.item(old.identifier))
                let new = try store.change(old.identifier, bytes: bytes, metadata: metadata, base: nil)
                return (new, signals)
            }
            signals.append(.folder(folder))
            let template = ItemTemplate(
                parentIdentifier: folder, filename: name, kind: .document,
                contentModificationDate: metadata.contentModificationDate)
            return (try store.create(template, bytes: bytes, isChecked: false), signals)
        }
        signalHub.send(signals)
        return item
    }

    /// As ``put(_:_:modified:)`` with the UTF-8 of `text`.
    @discardableResult
    public func put(_ path: String, _ text: String, modified: FileTime? = nil) throws(FileProviderError) -> Item {
        try put(path, Array(text.utf8), modified: modified)
    }

    /// Creates a folder, and missing folders of the path; an existing folder is no error.
    @discardableResult
    public func mkdir(_ path: String) throws(FileProviderError) -> Item {
        let (item, signals) = try withStore { store throws(FileProviderError) in
            var signals: [ChangeSignal] = []
            let folder = try Self.makeFolders(Self.names(path)[...], &store, &signals)
            return (try store.node(folder).item, signals)
        }
        signalHub.send(signals)
        return item
    }

    /// Creates a symbolic link in an existing folder.
    @discardableResult
    public func link(_ path: String, to target: String) throws(FileProviderError) -> Item {
        let item = try withStore { store throws(FileProviderError) in
            var names = Self.names(path)
            guard let name = names.popLast(), let folder = Self.find(names[...], store) else {
                throw Self.missing(path)
            }
            let template = ItemTemplate(
                parentIdentifier: folder.identifier, filename: name,
                kind: .symbolicLink(target: Array(target.utf8)), contentModificationDate: Self.now)
            return try store.create(template, bytes: [], isChecked: false)
        }
        signalHub.send([.folder(item.parentIdentifier)])
        return item
    }

    /// Deletes an item, a folder with all that is in it. Throws `FileProviderError.Code.noSuchItem`.
    public func remove(_ path: String) throws(FileProviderError) {
        let parent = try withStore { store throws(FileProviderError) in
            guard let item = Self.find(Self.names(path)[...], store) else { throw Self.missing(path) }
            // On a copy, so that an error (the topmost folder, say) changes nothing.
            var copy = store
            try Self.removeTree(item, &copy)
            store = copy
            return item.parentIdentifier
        }
        signalHub.send([.folder(parent)])
    }

    /// Moves an item into an existing folder; never replaces.
    @discardableResult
    public func rename(_ path: String, to newPath: String) throws(FileProviderError) -> Item {
        let (before, item) = try withStore { store throws(FileProviderError) in
            guard let old = Self.find(Self.names(path)[...], store) else { throw Self.missing(path) }
            var names = Self.names(newPath)
            guard let name = names.popLast(), let folder = Self.find(names[...], store) else {
                throw Self.missing(newPath)
            }
            let new = try store.move(old.identifier, to: folder.identifier, as: name, base: nil)
            return (old.parentIdentifier, new)
        }
        signalHub.send(
            before == item.parentIdentifier
                ? [.folder(before)] : [.folder(before), .folder(item.parentIdentifier)])
        return item
    }

    /// Sets an item's extended attributes to exactly these.
    @discardableResult
    public func setExtendedAttributes(
        _ attributes: [String: [UInt8]], at path: String
    ) throws(FileProviderError) -> Item {
        let item = try withStore { store throws(FileProviderError) in
            guard let item = Self.find(Self.names(path)[...], store) else { throw Self.missing(path) }
            let metadata = ItemMetadata(
                contentModificationDate: item.contentModificationDate, extendedAttributes: attributes)
            return try store.setMetadata(of: item.identifier, to: metadata, base: nil)
        }
        signalHub.send([.item(item.identifier)])
        return item
    }

    /// A document's bytes; nil when `path` is no document.
    public func read(_ path: String) -> [UInt8]? {
        guard case .document(let bytes) = entry(path) else { return nil }
        return bytes
    }

    /// The item at `path`; nil when there is none.
    public func item(at path: String) -> Item? {
        try? withStore { store throws(FileProviderError) in Self.find(Self.names(path)[...], store) }
    }

    /// The whole store by path, without the topmost folder. Names that are not UTF-8 are shown with U+FFFD.
    public func snapshot() -> [String: StoredEntry] { collect(Self.entry) }

    /// Every item of the store at one moment, by path, without the topmost folder. (``item(at:)`` for each path of a
    /// ``snapshot()`` misses items that are renamed between the two calls.)
    public func items() -> [String: Item] { collect(\.item) }
}

// MARK: - Paths, under the lock
extension InMemoryProvider {
    private func entry(_ path: String) -> StoredEntry? {
        try? withStore { store throws(FileProviderError) in
            guard let item = Self.find(Self.names(path)[...], store) else { throw Self.missing(path) }
            return Self.entry(try store.node(item.identifier))
        }
    }

    static func entry(_ node: MemoryNode) -> StoredEntry {
        switch node.item.kind {
        case .document: .document(node.bytes)
        case .folder: .folder
        case .symbolicLink(let target): .link(target: target)
        }
    }

    static func names(_ path: String) -> [Filename] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { Filename(bytes: $0) }
    }

    static func missing(_ path: String) -> FileProviderError {
        FileProviderError(.noSuchItem, "“\(path)”: no such item, or no folder for it")
    }

    static func find(_ names: ArraySlice<Filename>, _ store: MemoryStore) -> Item? {
        var item = try? store.node(.rootContainer).item
        for name in names { item = item.flatMap { store.child(name, in: $0.identifier) } }
        return item
    }

    private static func makeFolders(
        _ names: ArraySlice<Filename>, _ store: inout MemoryStore, _ signals: inout [ChangeSignal]
    ) throws(FileProviderError) -> ItemIdentifier {
        var folder = ItemIdentifier.rootContainer
        for name in names {
            if let item = store.child(name, in: folder) {
                guard item.kind.isFolder else {
                    throw FileProviderError(.filenameCollision, "\(name): not a folder", item: item)
                }
                folder = item.identifier
            } else {
                signals.append(.folder(folder))
                let template = ItemTemplate(
                    parentIdentifier: folder, filename: name, kind: .folder, contentModificationDate: now)
                folder = try store.create(template, bytes: [], isChecked: false).identifier
            }
        }
        return folder
    }

    private static func removeTree(_ item: Item, _ store: inout MemoryStore) throws(FileProviderError) {
        if item.kind.isFolder {
            for child in try store.items(in: item.identifier) { try removeTree(child, &store) }
        }
        try store.delete(item.identifier, base: nil)
    }

    private func collect<Value: Sendable>(_ value: (MemoryNode) -> Value) -> [String: Value] {
        let result = try? withStore { store throws(FileProviderError) in
            var found: [String: Value] = [:]
            try Self.collect(.rootContainer, prefix: "", store, value, &found)
            return found
        }
        return result ?? [:]
    }

    private static func collect<Value>(
        _ folder: ItemIdentifier, prefix: String, _ store: MemoryStore, _ value: (MemoryNode) -> Value,
        _ found: inout [String: Value]
    ) throws(FileProviderError) {
        for item in try store.items(in: folder) {
            let path = prefix + item.filename.string
            found[path] = value(try store.node(item.identifier))
            if item.kind.isFolder { try collect(item.identifier, prefix: path + "/", store, value, &found) }
        }
    }
}

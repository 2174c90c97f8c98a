import FileProvider

/// The tree of an ``InMemoryProvider``: a value, so that a change is made whole or, when it throws, not at
/// all.
struct MemoryStore: Sendable {
    private var nodes: [ItemIdentifier: MemoryNode] = [:]
    private var folders: [ItemIdentifier: FolderIndex] = [:]
    private var revision = 0

    init(made date: FileTime) {
        let template = ItemTemplate(
            parentIdentifier: .rootContainer, filename: "", kind: .folder, contentModificationDate: date)
        nodes[.rootContainer] = MemoryNode(
            number: 0, revision: 0, template: template, identifier: .rootContainer, bytes: [])
        folders[.rootContainer] = FolderIndex()
    }

    // MARK: Looking

    func node(_ identifier: ItemIdentifier) throws(FileProviderError) -> MemoryNode {
        guard let node = nodes[identifier] else {
            throw FileProviderError(.noSuchItem, "There is no item \(identifier).")
        }
        return node
    }

    func document(_ identifier: ItemIdentifier) throws(FileProviderError) -> MemoryNode {
        let node = try node(identifier)
        guard node.item.kind.isDocument else {
            throw FileProviderError(.unsupported, "\(node.item.filename) is not a document.")
        }
        return node
    }

    func folder(_ identifier: ItemIdentifier) throws(FileProviderError) -> FolderIndex {
        guard let index = folders[identifier] else {
            throw FileProviderError(.noSuchItem, "There is no folder \(identifier).")
        }
        return index
    }

    func child(_ name: Filename, in folder: ItemIdentifier) -> Item? {
        folders[folder]?[name].flatMap { nodes[$0]?.item }
    }

    func items(in folder: ItemIdentifier) throws(FileProviderError) -> [Item] {
        try self.folder(folder).identifiers.compactMap { nodes[$0]?.item }
    }

    /// A page's bytes are the number of its first item, in decimal.
    func page(
        of folder: ItemIdentifier, startingAt page: Page?, size: Int
    ) throws(FileProviderError) -> ItemPage {
        let first = page.map { Int(String(decoding: $0.bytes, as: UTF8.self)) } ?? 0
        guard let first else { throw FileProviderError(.cannotSynchronize, "That is no page of this store.") }
        // One more, to know whether there is a next page.
        let found = try self.folder(folder).page(from: first, count: size + 1).compactMap { nodes[$0] }
        let next = found.count > size ? Page(bytes: "\(found[size].number)".utf8) : nil
        return ItemPage(items: found.prefix(size).map(\.item), nextPage: next)
    }

    // MARK: Changing; a base version of nil is not checked

    mutating func create(_ template: ItemTemplate, bytes: [UInt8]) throws(FileProviderError) -> Item {
        var index = try folder(template.parentIdentifier)
        try checkName(template.filename, in: template.parentIdentifier)
        revision += 1
        let identifier = ItemIdentifier("item-\(revision)")
        let node = MemoryNode(
            number: revision, revision: revision, template: template, identifier: identifier, bytes: bytes)
        nodes[identifier] = node
        index.insert(node)
        folders[template.parentIdentifier] = index
        if template.kind.isFolder { folders[identifier] = FolderIndex() }
        return node.item
    }

    mutating func change(
        _ identifier: ItemIdentifier, bytes: [UInt8], metadata: ItemMetadata, base: ItemVersion?
    ) throws(FileProviderError) -> Item {
        var node = try document(identifier)
        try checkContent(of: node, base)
        revision += 1
        node.setBytes(bytes, revision: revision)
        node.setMetadata(metadata, revision: revision)
        nodes[identifier] = node
        return node.item
    }

    mutating func setMetadata(
        of identifier: ItemIdentifier, to metadata: ItemMetadata, base: ItemVersion?
    ) throws(FileProviderError) -> Item {
        var node = try node(identifier)
        if let base, base.metadata != node.item.version.metadata { throw mismatch(node.item) }
        revision += 1
        node.setMetadata(metadata, revision: revision)
        nodes[identifier] = node
        return node.item
    }

    mutating func move(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, base: ItemVersion?
    ) throws(FileProviderError) -> Item {
        var node = try node(identifier)
        try checkIsNotRoot(identifier)
        _ = try self.folder(folder)
        if let base, node.hasMoved(since: base) { throw mismatch(node.item) }
        if node.item.parentIdentifier == folder, node.item.filename == filename { return node.item }
        guard !isInside(folder, identifier) else {
            throw FileProviderError(.unsupported, "\(node.item.filename) cannot be moved into itself.")
        }
        try checkName(filename, in: folder)
        revision += 1
        folders[node.item.parentIdentifier]?.remove(node)
        node.setPlace(folder, filename, revision: revision)
        folders[folder]?.insert(node)
        nodes[identifier] = node
        return node.item
    }

    mutating func delete(_ identifier: ItemIdentifier, base: ItemVersion?) throws(FileProviderError) {
        let node = try node(identifier)
        try checkIsNotRoot(identifier)
        if node.item.kind.isDocument { try checkContent(of: node, base) }
        if let index = folders[identifier], !index.isEmpty {
            throw FileProviderError(.directoryNotEmpty, "\(node.item.filename) is not empty.")
        }
        folders[node.item.parentIdentifier]?.remove(node)
        folders[identifier] = nil
        nodes[identifier] = nil
    }

    // MARK: Checks

    private func checkName(_ name: Filename, in folder: ItemIdentifier) throws(FileProviderError) {
        if let problem = name.problem { throw FileProviderError(.invalidName, "Refused: \(problem).") }
        if let item = child(name, in: folder) {
            throw FileProviderError(.filenameCollision, "There is a \(name) already.", item: item)
        }
    }

    private func checkContent(of node: MemoryNode, _ base: ItemVersion?) throws(FileProviderError) {
        if let base, base.content != node.item.version.content { throw mismatch(node.item) }
    }

    private func checkIsNotRoot(_ identifier: ItemIdentifier) throws(FileProviderError) {
        guard identifier != .rootContainer else {
            throw FileProviderError(.permissionDenied, "The topmost folder stays where it is.")
        }
    }

    private func mismatch(_ item: Item) -> FileProviderError {
        FileProviderError(.versionMismatch, "\(item.filename) has changed meanwhile.", item: item)
    }

    /// Whether `inner` is `outer` or anywhere below it.
    private func isInside(_ inner: ItemIdentifier, _ outer: ItemIdentifier) -> Bool {
        var current = inner
        while current != .rootContainer {
            if current == outer { return true }
            guard let parent = nodes[current]?.item.parentIdentifier else { return false }
            current = parent
        }
        return false
    }
}

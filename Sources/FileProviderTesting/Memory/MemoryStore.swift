import FileProvider

/// The tree of an ``InMemoryProvider``: a value, so that a change that throws leaves no trace.
struct MemoryStore: Sendable {
    private var nodes: [ItemIdentifier: MemoryNode] = [:]
    private var folders: [ItemIdentifier: FolderIndex] = [:]
    private var revision = 0
    /// The bytes of all documents.
    private(set) var used: Int64 = 0
    /// The most bytes; nil: no limit.
    var capacity: Int64?
    /// The trashed items, in order.
    var trash: [MemoryNode] = []
    /// Whether contents that others replace stay as versions.
    var keepsVersions = false
    /// The links to items, in order.
    private(set) var links: [(identifier: ItemIdentifier, link: SharedLink)] = []
    private(set) var log = ChangeLog()

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
            throw FileProviderError(.noSuchItem, "\(identifier): no such item")
        }
        return node
    }

    func document(_ identifier: ItemIdentifier) throws(FileProviderError) -> MemoryNode {
        let node = try node(identifier)
        guard node.item.kind.isDocument else {
            throw FileProviderError(.unsupported, "\(node.item.filename): not a document")
        }
        return node
    }

    func document(_ identifier: ItemIdentifier, at version: ContentVersion) throws(FileProviderError) -> MemoryNode {
        let node = try document(identifier)
        guard node.item.version.content == version else {
            throw FileProviderError(
                .versionMismatch, "\(node.item.filename): its contents have changed", item: node.item)
        }
        return node
    }

    func folder(_ identifier: ItemIdentifier) throws(FileProviderError) -> FolderIndex {
        guard let index = folders[identifier] else {
            throw FileProviderError(.noSuchItem, "\(identifier): no such folder")
        }
        return index
    }

    func child(_ name: Filename, in folder: ItemIdentifier) -> Item? {
        folders[folder]?[name].flatMap { nodes[$0]?.item }
    }

    func items(in folder: ItemIdentifier) throws(FileProviderError) -> [Item] {
        try self.folder(folder).identifiers.compactMap { nodes[$0]?.item }
    }

    /// The bytes of a page are the number of its first item, in decimal.
    func page(
        of folder: ItemIdentifier, startingAt page: Page?, size: Int
    ) throws(FileProviderError) -> ItemPage {
        let first = page.map { Int(String(decoding: $0.bytes, as: UTF8.self)) } ?? 0
        guard let first else { throw FileProviderError(.cannotSynchronize, "not a page of this store") }
        // One item more, to know whether there is a next page.
        let found = try self.folder(folder).page(from: first, count: size + 1).compactMap { nodes[$0] }
        let next = found.count > size ? Page(bytes: "\(found[size].number)".utf8) : nil
        return ItemPage(items: found.prefix(size).map(\.item), nextPage: next)
    }

    func search(_ search: StoreSearch) -> StoreFindings {
        let found = nodes.values.filter { $0.item.identifier != .rootContainer && search.finds($0.item) }
            .sorted { $0.number < $1.number }
        let findings = found.prefix(search.limit).map { node in
            StoreFinding(
                path: path(of: node.item), kind: node.item.kind, size: node.item.size,
                contentModificationDate: node.item.contentModificationDate, identifier: node.item.identifier)
        }
        return StoreFindings(findings, isComplete: found.count <= search.limit)
    }

    func path(of item: Item) -> [Filename] {
        var (names, next): ([Filename], Item?) = ([], item)
        while let item = next, item.identifier != .rootContainer {
            names.append(item.filename)
            next = nodes[item.parentIdentifier]?.item
        }
        return names.reversed()
    }

    // MARK: Changes; a base version of nil means the other client, for which only names are checked

    mutating func create(
        _ template: ItemTemplate, bytes: [UInt8], isChecked: Bool = true
    ) throws(FileProviderError) -> Item {
        var index = try folder(template.parentIdentifier)
        if isChecked {
            try checkMay(.addingSubItems, try node(template.parentIdentifier))
            try checkRoom(for: Int64(bytes.count), insteadOf: 0)
        }
        try checkName(template.filename, in: template.parentIdentifier)
        revision += 1
        used += Int64(bytes.count)
        let identifier = ItemIdentifier("item-\(revision)")
        let node = MemoryNode(
            number: revision, revision: revision, template: template, identifier: identifier, bytes: bytes)
        nodes[identifier] = node
        index.insert(node)
        folders[template.parentIdentifier] = index
        if template.kind.isFolder { folders[identifier] = FolderIndex() }
        log.append(identifier, at: revision)
        return node.item
    }

    /// A new document with the contents of another.
    mutating func copy(
        _ identifier: ItemIdentifier, version: ContentVersion, as template: ItemTemplate
    ) throws(FileProviderError) -> Item {
        let original = try document(identifier)
        try checkMay(.reading, original)
        guard original.item.version.content == version else { throw mismatch(original.item) }
        var template = template
        template.kind = .document
        return try create(template, bytes: original.bytes)
    }

    mutating func change(
        _ identifier: ItemIdentifier, bytes: [UInt8], metadata: ItemMetadata, base: ItemVersion?
    ) throws(FileProviderError) -> Item {
        var node = try document(identifier)
        if base != nil {
            try checkMay(.writing, node)
            try checkRoom(for: Int64(bytes.count), insteadOf: node.item.size)
        }
        try checkContent(of: node, base)
        revision += 1
        used += Int64(bytes.count) - node.item.size
        if keepsVersions { node.keepVersion() }
        node.setBytes(bytes, revision: revision)
        node.setMetadata(metadata, revision: revision)
        keep(node)
        return node.item
    }

    mutating func setMetadata(
        of identifier: ItemIdentifier, to metadata: ItemMetadata, base: ItemVersion?
    ) throws(FileProviderError) -> Item {
        var node = try node(identifier)
        if let base {
            try checkMay(.writing, node)
            guard base.metadata == node.item.version.metadata else { throw mismatch(node.item) }
        }
        revision += 1
        node.setMetadata(metadata, revision: revision)
        keep(node)
        return node.item
    }

    mutating func setCapabilities(
        of identifier: ItemIdentifier, to capabilities: ItemCapabilities
    ) throws(FileProviderError) -> Item {
        var node = try node(identifier)
        revision += 1
        node.setCapabilities(capabilities, revision: revision)
        keep(node)
        return node.item
    }

    mutating func setThumbnail(of identifier: ItemIdentifier, to bytes: [UInt8]?) throws(FileProviderError) {
        var node = try document(identifier)
        node.thumbnail = bytes
        nodes[identifier] = node
    }

    /// Keeps a thumbnail given through the protocol.
    mutating func keepThumbnail(
        _ bytes: [UInt8], of identifier: ItemIdentifier, _ version: ContentVersion
    ) throws(FileProviderError) {
        let node = try document(identifier, at: version)
        try checkMay(.writing, node)
        try setThumbnail(of: identifier, to: bytes)
    }

    mutating func move(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, base: ItemVersion?
    ) throws(FileProviderError) -> Item {
        var node = try node(identifier)
        try checkIsNotRoot(identifier)
        _ = try self.folder(folder)
        if let base {
            try checkMay(.renaming, node)
            if folder != node.item.parentIdentifier { try checkMay(.addingSubItems, try self.node(folder)) }
            if node.hasMoved(since: base) { throw mismatch(node.item) }
        }
        if node.item.parentIdentifier == folder, node.item.filename == filename { return node.item }
        guard !isInside(folder, identifier) else {
            throw FileProviderError(.unsupported, "\(node.item.filename): cannot be moved into itself")
        }
        try checkName(filename, in: folder)
        revision += 1
        folders[node.item.parentIdentifier]?.remove(node)
        node.setPlace(folder, filename, revision: revision)
        folders[folder]?.insert(node)
        keep(node)
        return node.item
    }

    mutating func delete(_ identifier: ItemIdentifier, base: ItemVersion?) throws(FileProviderError) {
        let node = try node(identifier)
        try checkIsNotRoot(identifier)
        if base != nil { try checkMay(.deleting, node) }
        if node.item.kind.isDocument { try checkContent(of: node, base) }
        if let index = folders[identifier], !index.isEmpty {
            throw FileProviderError(.directoryNotEmpty, "\(node.item.filename): not empty")
        }
        folders[node.item.parentIdentifier]?.remove(node)
        folders[identifier] = nil
        nodes[identifier] = nil
        used -= node.item.size
        revision += 1
        log.append(identifier, at: revision)
    }

    mutating func setFavorite(
        _ isFavorite: Bool, of identifier: ItemIdentifier
    ) throws(FileProviderError) -> Item {
        var node = try node(identifier)
        revision += 1
        node.setFavorite(isFavorite, revision: revision)
        keep(node)
        return node.item
    }

    // MARK: The trash and links

    /// - Returns: where the item is now.
    mutating func restore(_ trashed: String) throws(FileProviderError) -> Item {
        guard let index = trash.firstIndex(where: { $0.trashIdentifier == trashed }) else {
            throw FileProviderError(.noSuchItem, "\(trashed): is not in the trash")
        }
        var node = trash.remove(at: index)
        let folder = folders[node.item.parentIdentifier] == nil ? .rootContainer : node.item.parentIdentifier
        var name = node.item.filename
        while child(name, in: folder) != nil { name = Filename(bytes: name.bytes + Array(" (restored)".utf8)) }
        revision += 1
        node.setPlace(folder, name, revision: revision)
        folders[folder]?.insert(node)
        if node.item.kind.isFolder { folders[node.item.identifier] = FolderIndex() }
        used += node.item.size
        keep(node)
        return node.item
    }

    mutating func share(_ identifier: ItemIdentifier, _ terms: LinkTerms) throws(FileProviderError) -> SharedLink {
        _ = try node(identifier)
        revision += 1
        let link = SharedLink(
            identifier: "link-\(revision)", url: "https://store.example/\(revision)",
            hasPassword: terms.password != nil,
            until: terms.until, allowsEditing: terms.allowsEditing)
        links.append((identifier, link))
        return link
    }

    mutating func endLink(_ link: String, to identifier: ItemIdentifier) throws(FileProviderError) {
        guard let index = links.firstIndex(where: { $0.identifier == identifier && $0.link.identifier == link }) else {
            throw FileProviderError(.noSuchItem, "\(link): no such link")
        }
        links.remove(at: index)
    }

    private mutating func keep(_ node: MemoryNode) {
        nodes[node.item.identifier] = node
        log.append(node.item.identifier, at: revision)
    }

    // MARK: Changes since

    var anchor: SyncAnchor { log.anchor(at: revision) }

    func changes(from anchor: SyncAnchor, count: Int) throws(FileProviderError) -> ChangePage {
        let (identifiers, next, hasMore) = try log.page(from: anchor, count: count, newest: revision)
        var page = ChangePage(anchor: next, hasMore: hasMore)
        for identifier in identifiers {
            if let item = nodes[identifier]?.item { page.updated.append(item) } else { page.deleted.append(identifier) }
        }
        return page
    }

    mutating func forgetChanges() { log.forget(before: revision) }

    // MARK: Checks

    func checkMay(_ what: ItemCapabilities, _ node: MemoryNode) throws(FileProviderError) {
        guard node.item.capabilities.contains(what) else {
            throw FileProviderError(.permissionDenied, "\(node.item.filename): the store does not allow this")
        }
    }

    private func checkRoom(for count: Int64, insteadOf old: Int64) throws(FileProviderError) {
        if let capacity, count > old, used - old + count > capacity {
            throw FileProviderError(
                .insufficientQuota, "the store has \(max(0, capacity - used)) bytes left, too few for \(count)")
        }
    }

    private func checkName(_ name: Filename, in folder: ItemIdentifier) throws(FileProviderError) {
        if let problem = name.problem { throw FileProviderError(.invalidName, "\(problem)") }
        if let item = child(name, in: folder) {
            throw FileProviderError(.filenameCollision, "\(name): exists already", item: item)
        }
    }

    private func checkContent(of node: MemoryNode, _ base: ItemVersion?) throws(FileProviderError) {
        if let base, base.content != node.item.version.content { throw mismatch(node.item) }
    }

    private func checkIsNotRoot(_ identifier: ItemIdentifier) throws(FileProviderError) {
        guard identifier != .rootContainer else {
            throw FileProviderError(.permissionDenied, "the topmost folder cannot be moved or deleted")
        }
    }

    private func mismatch(_ item: Item) -> FileProviderError {
        FileProviderError(.versionMismatch, "\(item.filename): has changed meanwhile", item: item)
    }

    /// Whether `inner` is `outer` or below it.
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

extension StoreSearch {
    /// Whether an item meets the conditions.
    fileprivate func finds(_ item: Item) -> Bool {
        let name = item.filename.string.lowercased()
        if let size, !item.kind.isDocument || !size.contains(item.size) { return false }
        if let modified, !modified.contains(item.contentModificationDate.seconds) { return false }
        return nameParts.allSatisfy { name.contains($0.lowercased()) }
            && (filenameExtensions.isEmpty || filenameExtensions.contains { name.hasSuffix("." + $0.lowercased()) })
    }
}

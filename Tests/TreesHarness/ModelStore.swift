package import FileProvider

/// A store that knows only which trees are legal, and the contents of each document. A document's contents are one
/// number, which is also its version.
package struct ModelStore {
    package struct Node: Equatable {
        package var parent: ItemIdentifier
        package var name: Filename
        package var isFolder: Bool
        package var content: Int
        /// Changes with each change of the item's place.
        package var placement = 0
    }

    /// Why the store refused, and what it has instead.
    package struct Refusal: Error {
        package var code: FileProviderError.Code
        package var existing: ItemIdentifier?
    }

    package private(set) var nodes: [ItemIdentifier: Node] = [:]
    /// All contents that were ever in the store.
    package private(set) var everStored: Set<Int> = []
    private var next = 0

    private func require(_ identifier: ItemIdentifier) throws -> Node {
        guard let node = nodes[identifier] else { throw Refusal(code: .noSuchItem) }
        return node
    }

    private func requireFree(_ parent: ItemIdentifier, _ name: Filename, for own: ItemIdentifier? = nil) throws {
        guard parent == .rootContainer || nodes[parent]?.isFolder == true else { throw Refusal(code: .noSuchItem) }
        if let other = child(of: parent, named: name), other != own {
            throw Refusal(code: .filenameCollision, existing: other)
        }
    }

    package func child(of parent: ItemIdentifier, named name: Filename) -> ItemIdentifier? {
        nodes.first { $0.value.parent == parent && $0.value.name == name }?.key
    }

    package func children(of parent: ItemIdentifier) -> [ItemIdentifier] {
        nodes.filter { $0.value.parent == parent }.keys.sorted { $0.rawValue < $1.rawValue }
    }

    package mutating func create(
        _ parent: ItemIdentifier, _ name: Filename, isFolder: Bool, content: Int
    ) throws -> ItemIdentifier {
        try requireFree(parent, name)
        next += 1
        let identifier = ItemIdentifier("n\(next)")
        nodes[identifier] = Node(parent: parent, name: name, isFolder: isFolder, content: content)
        if !isFolder { everStored.insert(content) }
        return identifier
    }

    /// - Parameter base: the contents that the change started from; nil: any.
    package mutating func change(_ identifier: ItemIdentifier, content: Int, base: Int? = nil) throws {
        let node = try require(identifier)
        if let base, node.content != base { throw Refusal(code: .versionMismatch, existing: identifier) }
        nodes[identifier]!.content = content
        everStored.insert(content)
    }

    package mutating func move(
        _ identifier: ItemIdentifier, _ parent: ItemIdentifier, _ name: Filename, placement: Int? = nil
    ) throws {
        let node = try require(identifier)
        if let placement, node.placement != placement {
            throw Refusal(code: .versionMismatch, existing: identifier)
        }
        try requireFree(parent, name, for: identifier)
        var above: ItemIdentifier? = parent
        while let current = above {
            if current == identifier { throw Refusal(code: .cannotSynchronize) }
            above = nodes[current]?.parent
        }
        nodes[identifier]!.parent = parent
        nodes[identifier]!.name = name
        nodes[identifier]!.placement += 1
    }

    package mutating func delete(_ identifier: ItemIdentifier, base: Int? = nil) throws {
        let node = try require(identifier)
        if !children(of: identifier).isEmpty { throw Refusal(code: .directoryNotEmpty) }
        if let base, !node.isFolder, node.content != base {
            throw Refusal(code: .versionMismatch, existing: identifier)
        }
        nodes[identifier] = nil
    }

    /// Deletes the item with all its descendants.
    package mutating func deleteTree(_ identifier: ItemIdentifier) {
        for child in children(of: identifier) { deleteTree(child) }
        nodes[identifier] = nil
    }

    /// The item as a provider would report it. Even contents are a document without bytes, odd contents a placeholder.
    package func item(_ identifier: ItemIdentifier) -> Item? {
        guard let node = nodes[identifier] else { return nil }
        return Item(
            identifier: identifier, parentIdentifier: node.parent, filename: node.name,
            kind: node.isFolder ? .folder : .document, size: node.isFolder ? 0 : Int64(node.content % 2),
            contentModificationDate: FileTime(seconds: 0),
            version: ItemVersion(
                content: ContentVersion("\(node.content)"), metadata: MetadataVersion("\(node.placement)")))
    }

    package func path(_ identifier: ItemIdentifier) -> String {
        guard let node = nodes[identifier] else { return "" }
        return path(node.parent) + "/" + node.name.string
    }

    /// All paths, with the contents of documents, and nil for folders.
    package var paths: [String: Int?] {
        Dictionary(uniqueKeysWithValues: nodes.map { (path($0.key), $0.value.isFolder ? nil : $0.value.content) })
    }
}

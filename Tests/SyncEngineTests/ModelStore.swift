import FileProvider

/// A store that knows nothing but which tree is legal, and which document has which contents.
struct ModelStore {
    struct Node: Equatable {
        var parent: ItemIdentifier
        var name: Filename
        var isFolder: Bool
        var content: Int
    }
    struct Illegal: Error, CustomStringConvertible { var description: String }
    private(set) var nodes: [ItemIdentifier: Node] = [:]
    private var next = 0

    private func check(_ parent: ItemIdentifier, _ name: Filename) throws {
        guard parent == .rootContainer || nodes[parent]?.isFolder == true else {
            throw Illegal(description: "no folder \(parent)")
        }
        if nodes.values.contains(where: { $0.parent == parent && $0.name == name }) {
            throw Illegal(description: "\(name) is taken in \(parent)")
        }
    }

    mutating func create(
        _ parent: ItemIdentifier, _ name: Filename, isFolder: Bool, content: Int
    ) throws -> ItemIdentifier {
        try check(parent, name)
        next += 1
        let identifier = ItemIdentifier("n\(next)")
        nodes[identifier] = Node(parent: parent, name: name, isFolder: isFolder, content: content)
        return identifier
    }

    mutating func change(_ identifier: ItemIdentifier, content: Int) throws {
        guard nodes[identifier]?.isFolder == false else { throw Illegal(description: "no document \(identifier)") }
        nodes[identifier]!.content = content
    }

    mutating func move(_ identifier: ItemIdentifier, _ parent: ItemIdentifier, _ name: Filename) throws {
        try check(parent, name)
        var above: ItemIdentifier? = parent
        while let current = above {
            if current == identifier { throw Illegal(description: "\(identifier) into itself") }
            above = nodes[current]?.parent
        }
        guard nodes[identifier] != nil else { throw Illegal(description: "no \(identifier)") }
        nodes[identifier]!.parent = parent
        nodes[identifier]!.name = name
    }

    mutating func delete(_ identifier: ItemIdentifier) throws {
        if nodes.values.contains(where: { $0.parent == identifier }) {
            throw Illegal(description: "\(identifier) is not empty")
        }
        guard nodes.removeValue(forKey: identifier) != nil else { throw Illegal(description: "no \(identifier)") }
    }

    func path(_ identifier: ItemIdentifier) -> String {
        guard let node = nodes[identifier] else { return "" }
        return path(node.parent) + "/" + node.name.string
    }

    /// Every path: the contents of documents, nil of folders.
    var paths: [String: Int?] {
        Dictionary(uniqueKeysWithValues: nodes.map { (path($0.key), $0.value.isFolder ? nil : $0.value.content) })
    }
}

import FileProvider

/// The items of one folder of a ``MemoryStore``: by name, and in an order that renames do not change, so that the pages
/// of a changing folder miss nothing.
struct FolderIndex: Sendable {
    private struct Entry: Sendable {
        /// The item's ``MemoryNode/number``; grows with each new item and stays.
        var number: Int
        var identifier: ItemIdentifier
    }
    private var names: [Filename: ItemIdentifier] = [:]
    private var entries: [Entry] = []

    var isEmpty: Bool { entries.isEmpty }
    var identifiers: [ItemIdentifier] { entries.map(\.identifier) }

    subscript(name: Filename) -> ItemIdentifier? { names[name] }

    mutating func insert(_ node: MemoryNode) {
        names[node.item.filename] = node.item.identifier
        entries.insert(
            Entry(number: node.number, identifier: node.item.identifier), at: position(of: node.number))
    }

    mutating func remove(_ node: MemoryNode) {
        names[node.item.filename] = nil
        entries.remove(at: position(of: node.number))
    }

    /// At most `count` items numbered `number` or higher.
    func page(from number: Int, count: Int) -> [ItemIdentifier] {
        entries[position(of: number)...].prefix(count).map(\.identifier)
    }

    /// The index of the first entry numbered `number` or higher.
    private func position(of number: Int) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

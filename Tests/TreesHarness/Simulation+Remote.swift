import FileProvider
import Trees

/// The store's other client, and how the engine learns of its changes.
extension Simulation {
    func changeRemotely() {
        let folders = [ItemIdentifier.rootContainer] + sorted { $0.isFolder }
        let (folder, target) = (
            folders.randomElement(using: &generator)!, folders.randomElement(using: &generator)!
        )
        // An item of the store with the name of an excluded local file waits until that file is gone.
        let names: [Filename] = ["a", "b", "c"]
        let (name, newName) = (names.randomElement(using: &generator)!, names.randomElement(using: &generator)!)
        let there = store.child(of: folder, named: name)
        let choice = ["put", "put", "mkdir", "move", "move", "delete"].randomElement(using: &generator)!
        do {
            switch (choice, there) {
            case ("put", nil): _ = try store.create(folder, name, isFolder: false, content: newContent())
            case ("put", let there?) where store.nodes[there]?.isFolder == false:
                try store.change(there, content: newContent())
            case ("mkdir", _): _ = try store.create(folder, name, isFolder: true, content: 0)
            case ("move", let there?): try store.move(there, target, newName)
            case ("delete", let there?): store.deleteTree(there)
            default: return
            }
            log("other client: \(choice) \(folder)/\(name) \(target)/\(newName)")
        } catch {
            // The other client's mistake.
        }
    }

    private func sorted(_ isIncluded: (ModelStore.Node) -> Bool) -> [ItemIdentifier] {
        store.nodes.filter { isIncluded($0.value) }.keys.sorted { $0.rawValue < $1.rawValue }
    }

    /// The engine lists every folder that it knows, and every folder that it discovers.
    func listAll() throws {
        var listed: Set<InodeID> = []
        var waiting: [InodeID] = [.root]
        while let folder = waiting.popLast(), problem == nil {
            guard listed.insert(folder).inserted else { continue }
            try list(folder)
            let children = try trees.read { try $0.children(of: folder, after: 0, limit: 1_000) }
            waiting += children.filter(\.inode.isFolder).map(\.inode.id)
        }
    }

    private func list(_ folder: InodeID) throws {
        guard let row = try trees.read({ try $0.item(of: folder) }), let identifier = row.identifier,
            identifier == .rootContainer || store.nodes[identifier] != nil
        else { return }
        let items = store.children(of: identifier).compactMap { store.item($0) }
        // A listing may show the old state of items that are being changed from here.
        let own = Set(underWay.values.compactMap(\.planned.pending.item.identifier))
        let missing = try trees.write {
            let missing = try $0.mergeListing(of: folder, items, ignoring: own, defaults: defaults).missing
            if !$0.changes.isEmpty { log("    listing of \(folder.rawValue): \(items.map(\.filename))") }
            return missing
        }
        var gone: [ItemIdentifier] = []
        for one in missing.sorted(by: { $0.rawValue < $1.rawValue }) where !own.contains(one) {
            if store.nodes[one] == nil { gone.append(one) } else { try refresh(one) }
        }
        try trees.write { try $0.mergeDeletions(of: gone, defaults: defaults) }
    }

    /// The engine asks for one item.
    func refresh(_ identifier: ItemIdentifier) throws {
        let item = identifier == .rootContainer ? nil : store.item(identifier)
        try trees.write { writer in
            guard let item else {
                if identifier != .rootContainer { try writer.mergeDeletion(of: identifier, defaults: defaults) }
                return
            }
            if try writer.item(identifiedBy: item.parentIdentifier) != nil {
                try writer.mergeItem(item, defaults: defaults)
            } else {
                // The item is in a folder that nobody has listed: the next listing finds it there.
                try writer.mergeDeletions(of: [identifier], mayHold: false, defaults: defaults)
            }
        }
    }
}

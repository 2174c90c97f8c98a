import ItemCatalog
import Synchronization

/// The nodes that the kernel references, and which inodes programs have open. Bounded by what the
/// kernel holds. A leaf lock: nothing else is taken while it is held.
final class NodeTable: Sendable {
    private struct Entry {
        var node: Node
        var generation: Int64
        var lookups: UInt64
        /// How many open files programs have of it.
        var opens = 0
        /// Its last name is gone: with the last reference the inode goes too.
        var isOrphan = false
    }
    private struct State {
        var entries: [NodeID: Entry] = [:]
        var current: [InodeID: NodeID] = [:]
        /// How many open files programs have of an inode.
        var uses: [InodeID: Int] = [:]
        var next: UInt64 = 2
    }
    private let state: Mutex<State>

    init() {
        var initial = State()
        initial.entries[.root] = Entry(
            node: Node(id: .root, inode: .root, generation: 1), generation: 1, lookups: 1)
        initial.current[.root] = .root
        state = Mutex(initial)
    }

    subscript(id: NodeID) -> Node? { state.withLock { $0.entries[id]?.node } }

    func current(_ inode: InodeID) -> Node? {
        state.withLock { state in state.current[inode].flatMap { state.entries[$0]?.node } }
    }

    /// The node for an inode in this generation, one reference more. Says which node it replaces.
    func reference(_ inode: InodeID, generation: Int64) -> (node: Node, replaced: Node?) {
        state.withLock { state in
            var replaced: Node?
            if let id = state.current[inode], let entry = state.entries[id] {
                if entry.generation == generation {
                    state.entries[id]!.lookups += 1
                    return (entry.node, nil)
                }
                replaced = entry.node
            }
            let node = Node(id: NodeID(rawValue: state.next), inode: inode, generation: generation)
            state.next += 1
            state.entries[node.id] = Entry(node: node, generation: generation, lookups: 1)
            state.current[inode] = node.id
            return (node, replaced)
        }
    }

    /// The kernel gives up `count` references. Returns an inode that nothing refers to any more and
    /// that has no name.
    func forget(_ id: NodeID, count: UInt64) -> InodeID? {
        state.withLock { state in
            guard id != .root, var entry = state.entries[id] else { return nil }
            entry.lookups -= min(count, entry.lookups)
            state.entries[id] = entry
            return drop(&state, id)
        }
    }

    /// The node stands for another generation now (no byte of the old one was handed out).
    func rebase(_ node: Node, to generation: Int64) {
        state.withLock { $0.entries[node.id]?.generation = generation }
    }

    /// The node is the past: new look-ups get another one.
    func detach(_ node: Node) {
        state.withLock { state in
            if state.current[node.inode] == node.id { state.current[node.inode] = nil }
        }
    }

    /// The inode lost its last name. Returns it when nobody refers to it, so that it can go at once.
    func orphan(_ inode: InodeID) -> InodeID? {
        state.withLock { state in
            guard let id = state.current[inode] else { return state.uses[inode] == nil ? inode : nil }
            state.entries[id]?.isOrphan = true
            return drop(&state, id)
        }
    }

    private func drop(_ state: inout State, _ id: NodeID) -> InodeID? {
        guard let entry = state.entries[id], entry.lookups == 0, state.uses[entry.node.inode] == nil else { return nil }
        state.entries[id] = nil
        if state.current[entry.node.inode] == id { state.current[entry.node.inode] = nil }
        return entry.isOrphan ? entry.node.inode : nil
    }

    // MARK: What is open

    func opened(_ node: Node) {
        state.withLock { state in
            state.entries[node.id]?.opens += 1
            state.uses[node.inode, default: 0] += 1
        }
    }

    /// Returns an inode that can go now, as ``forget(_:count:)`` does.
    func closed(_ node: Node) -> InodeID? {
        state.withLock { state in
            state.entries[node.id]?.opens -= 1
            reduce(&state, node.inode, by: 1)
            return drop(&state, node.id)
        }
    }

    private func reduce(_ state: inout State, _ inode: InodeID, by count: Int) {
        let left = state.uses[inode, default: 0] - count
        state.uses[inode] = left > 0 ? left : nil
    }

    func isOpen(_ inode: InodeID) -> Bool { state.withLock { $0.uses[inode] != nil } }

    /// The node, with all who have it open, stands for another inode from now on: one that has no name (yet).
    func split(_ node: Node, to inode: InodeID) {
        state.withLock { state in
            guard let entry = state.entries[node.id] else { return }
            if state.current[node.inode] == node.id { state.current[node.inode] = nil }
            reduce(&state, node.inode, by: entry.opens)
            state.uses[inode] = entry.opens > 0 ? entry.opens : nil
            state.current[inode] = node.id
            state.entries[node.id]?.isOrphan = true
            state.entries[node.id]?.generation = 1
            node.becomes(inode)
        }
    }
}

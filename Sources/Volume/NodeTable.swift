import Locking
import Trees

/// The nodes that the kernel references, and which inodes programs have open. Bounded by what the
/// kernel holds. A leaf lock: nothing else is taken while it is held.
///
/// Programs only looked at most of them, a folder's listing at a time: for these the table keeps three numbers
/// (`Seen`), and a ``Node`` is made when a program does more with one.
final class NodeTable: Sendable {
    private struct Entry {
        var node: Node
        var generation: Int64
        var lookups: UInt64
        /// How many open files programs have of this node.
        var opens = 0
        /// The inode's last name is gone: it is removed with the last reference.
        var isOrphan = false
    }
    /// A million of these are to fit into memory.
    private struct Seen {
        var generation: UInt32
        var lookups: UInt32
    }
    private struct State {
        var entries: [NodeID: Entry] = [:]
        /// Keys are numbers of inodes: hashing an `InodeID`, of another module, costs a call each time.
        var current: [Int64: NodeID] = [:]
        /// Nodes of earlier generations, the oldest first: another node stands for the inode by now, and the volume has
        /// not been told yet what becomes of these.
        var past: [InodeID: [NodeID]] = [:]
        /// Inodes that are neither in `entries` (by their natural number) nor in `current`.
        var seen: [Int64: Seen] = [:]
        /// How many open files programs have of an inode.
        var uses: [InodeID: Int] = [:]
        /// The next number for a node whose natural number is taken. No inode's number gets so high.
        var next: UInt64 = 1 << 62
    }
    private let state: AdaptiveMutex<State>

    init() {
        var initial = State()
        initial.entries[.root] = Entry(
            node: Node(id: .root, inode: .root, generation: 1), generation: 1, lookups: 1)
        initial.current[InodeID.root.rawValue] = .root
        state = AdaptiveMutex(initial)
    }

    /// The node; it is made if nobody needed it so far.
    subscript(id: NodeID) -> Node? {
        state.withLock { $0.entries[id]?.node ?? Self.make(&$0, InodeID(id)) }
    }

    func current(_ inode: InodeID) -> Node? {
        state.withLock { state in
            state.current[inode.rawValue].flatMap { state.entries[$0]?.node } ?? Self.make(&state, inode)
        }
    }

    /// What the kernel calls an inode.
    func id(of inode: InodeID) -> NodeID? {
        state.withLock { $0.current[inode.rawValue] ?? ($0.seen[inode.rawValue] == nil ? nil : NodeID(inode)) }
    }

    func inode(of id: NodeID) -> InodeID? {
        state.withLock { $0.entries[id]?.node.inode ?? ($0.seen[InodeID(id).rawValue] == nil ? nil : InodeID(id)) }
    }

    /// How many nodes the memory in use has room for.
    var capacity: Int { state.withLock { max($0.seen.capacity, $0.entries.capacity, $0.current.capacity) } }

    /// Nil: nobody needed a node so far.
    func made(_ id: NodeID) -> Node? { state.withLock { $0.entries[id]?.node } }

    private static func make(_ state: inout State, _ inode: InodeID) -> Node? {
        guard let seen = state.seen.removeValue(forKey: inode.rawValue) else { return nil }
        state.seen.giveBackRoom()
        let node = Node(
            id: NodeID(inode), inode: inode, generation: Int64(seen.generation), isKnownToKernel: true)
        state.entries[node.id] = Entry(
            node: node, generation: Int64(seen.generation), lookups: UInt64(seen.lookups))
        state.current[inode.rawValue] = node.id
        return node
    }

    /// Takes a reference on the node that stands for an inode in this generation. Returns that node, if anybody needed
    /// it so far, and the node that it replaces.
    ///
    /// - Parameter rebase: called before a node of an earlier generation is replaced, without the table's lock. If it
    ///   gives that node the new generation, the node is not replaced.
    func reference(
        _ inode: InodeID, generation: Int64, rebase: (Node) -> Void = { _ in }
    ) -> (id: NodeID, node: Node?, replaced: Node?) {
        var outdated: Node?
        let known = state.withLock { state -> (id: NodeID, node: Node?, replaced: Node?)? in
            let current = state.current[inode.rawValue].flatMap { state.entries[$0] }
            guard let current, current.generation < generation else {
                return Self.reference(&state, inode, generation)
            }
            outdated = current.node
            return nil
        }
        if let known { return known }
        if let outdated { rebase(outdated) }
        return state.withLock { Self.reference(&$0, inode, generation) }
    }

    private static func reference(
        _ state: inout State, _ inode: InodeID, _ generation: Int64
    ) -> (id: NodeID, node: Node?, replaced: Node?) {
        let natural = NodeID(inode)
        if let seen = state.seen[inode.rawValue] {
            if seen.generation == generation, seen.lookups < .max {
                state.seen[inode.rawValue]!.lookups += 1
                return (natural, nil, nil)
            }
            _ = make(&state, inode)
        }
        var replaced: Node?
        if let id = state.current[inode.rawValue], let entry = state.entries[id] {
            // (A look-up from before the store's next version came is late.)
            if entry.generation >= generation {
                state.entries[id]!.lookups += 1
                return (id, entry.node, nil)
            }
            replaced = entry.node
            state.past[inode, default: []].append(id)
        }
        let isFree = state.entries[natural] == nil
        if isFree, let generation = UInt32(exactly: generation) {
            state.current[inode.rawValue] = nil
            state.seen[inode.rawValue] = Seen(generation: generation, lookups: 1)
            return (natural, nil, replaced)
        }
        let node = Node(
            id: isFree ? natural : NodeID(rawValue: state.next), inode: inode, generation: generation)
        if !isFree { state.next += 1 }
        state.entries[node.id] = Entry(node: node, generation: generation, lookups: 1)
        state.current[inode.rawValue] = node.id
        return (node.id, node, replaced)
    }

    /// The kernel gives up `count` references. Returns an inode that nothing refers to any more and
    /// that has no name.
    func forget(_ id: NodeID, count: UInt64) -> InodeID? {
        state.withLock { state in
            if let seen = state.seen[InodeID(id).rawValue], state.entries[id] == nil {
                let left = seen.lookups - UInt32(min(count, UInt64(seen.lookups)))
                state.seen[InodeID(id).rawValue] = left == 0 ? nil : Seen(generation: seen.generation, lookups: left)
                state.seen.giveBackRoom()
                return nil
            }
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

    /// The node is a past generation, and the volume knows what becomes of it: new look-ups get another node.
    func detach(_ node: Node) { state.withLock { Self.detach(&$0, node) } }

    private static func detach(_ state: inout State, _ node: Node) {
        if state.current[node.inode.rawValue] == node.id { state.current[node.inode.rawValue] = nil }
        guard let others = state.past[node.inode]?.filter({ $0 != node.id }) else { return }
        state.past[node.inode] = others.isEmpty ? nil : others
    }

    /// The nodes that stand for an inode now, or did before a version came from the store of which the volume has not
    /// been told yet; the oldest first.
    func generations(of inode: InodeID) -> [Node] {
        let past = state.withLock { state in (state.past[inode] ?? []).compactMap { state.entries[$0]?.node } }
        return past + (current(inode).map { [$0] } ?? [])
    }

    /// The inode has lost its last name. Returns it if nobody refers to it, so that it can be removed at once.
    func orphan(_ inode: InodeID) -> InodeID? {
        state.withLock { state in
            _ = Self.make(&state, inode)
            guard let id = state.current[inode.rawValue] else { return state.uses[inode] == nil ? inode : nil }
            state.entries[id]?.isOrphan = true
            return drop(&state, id)
        }
    }

    private func drop(_ state: inout State, _ id: NodeID) -> InodeID? {
        guard let entry = state.entries[id], entry.lookups == 0, state.uses[entry.node.inode] == nil else { return nil }
        state.entries[id] = nil
        Self.detach(&state, entry.node)
        state.entries.giveBackRoom()
        state.current.giveBackRoom()
        return entry.isOrphan ? entry.node.inode : nil
    }

    // MARK: What is open

    func opened(_ node: Node) {
        state.withLock { state in
            state.entries[node.id]?.opens += 1
            state.uses[node.inode, default: 0] += 1
        }
    }

    /// Returns an inode that can be removed now, as ``forget(_:count:)`` does.
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

    /// The node, with all programs that have it open, stands for another inode from now on, which has no name (yet).
    func split(_ node: Node, to inode: InodeID) {
        state.withLock { state in
            guard let entry = state.entries[node.id] else { return }
            Self.detach(&state, node)
            reduce(&state, node.inode, by: entry.opens)
            state.uses[inode] = entry.opens > 0 ? entry.opens : nil
            state.current[inode.rawValue] = node.id
            state.entries[node.id]?.isOrphan = true
            state.entries[node.id]?.generation = 1
            node.becomes(inode)
        }
    }
}

extension Dictionary {
    /// A dictionary keeps its room when entries are removed; this gives it back when hardly any are left.
    fileprivate mutating func giveBackRoom() {
        if capacity > 4_096, count < capacity / 8 { self = Self(uniqueKeysWithValues: lazy.map { ($0.key, $0.value) }) }
    }
}

extension NodeID {
    /// The number of the node that stands for an inode, as long as no other node has that number.
    init(_ inode: InodeID) { self.init(rawValue: UInt64(bitPattern: inode.rawValue)) }
}

extension InodeID {
    init(_ natural: NodeID) { self.init(rawValue: Int64(bitPattern: natural.rawValue)) }
}

package import FileProvider
package import Trees

/// Trees for a ``Simulation``: in memory, or a catalog.
package protocol SimulatedTrees {
    associatedtype Reader: TreeReading
    associatedtype Writer: TreeStore
    func read<T>(_ body: (Reader) throws -> T) throws -> T
    func write<T>(_ body: (Writer) throws -> T) throws -> T
    var now: FileTime { get }
    /// No pending change waits for its settle time or its next try any more.
    func settleNow() throws
}

extension MemoryTrees: SimulatedTrees {}

/// Gives the same numbers for the same seed.
package struct Generator: RandomNumberGenerator {
    package var state: UInt64
    package init(state: UInt64) { self.state = state }

    package mutating func next() -> UInt64 {
        state = state &+ 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

import TreesHarness

/// Plays simulations on the rules alone, on trees in memory: no catalog, no files, no daemon.
enum RulesRun {
    /// All that a simulation can do, and parts of it: some faults show only while nothing else happens.
    private static let kinds: [SimulatedKinds] = [
        .all, .alone, .remote, [.folderMoves, .remote], [.folderMoves, .saves, .lostReplies],
    ]

    /// Plays the simulation of a seed.
    ///
    /// - Returns: how many changes and steps it had, and what went wrong; nil: nothing.
    static func play(seed: UInt64) -> (operations: Int, violation: String?) {
        do {
            let simulation = try Simulation(
                seed: seed, kinds[Int(seed % UInt64(kinds.count))], on: MemoryTrees())
            let violation = try simulation.run()
            return (simulation.count, violation)
        } catch {
            return (0, "\(error)")
        }
    }
}

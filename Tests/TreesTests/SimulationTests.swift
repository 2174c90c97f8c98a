import FileProvider
import Testing
import Trees
import TreesHarness

/// Random changes of the trees, sent step by step to a store. In the end both have the same tree with the same contents,
/// and nothing that a program saved is lost.
@Suite struct SimulationTests {
    private func run(_ seeds: Range<UInt64>, _ kinds: SimulatedKinds) throws {
        for seed in seeds {
            let problem = try Simulation(seed: seed, kinds, on: MemoryTrees()).run()
            if let problem {
                Issue.record("seed \(seed): \(problem)")
                return
            }
        }
    }

    /// No step is refused, for nobody else changes the store.
    @Test func everyStepIsLegalAndItEnds() throws { try run(0..<200, []) }
    @Test func alsoWhenFoldersMoveIntoOneAnother() throws { try run(0..<300, .folderMoves) }
    @Test func alsoWithHardLinks() throws { try run(0..<200, [.folderMoves, .links]) }
    @Test func alsoWithSavesOfAllKinds() throws { try run(0..<200, [.folderMoves, .exchanges, .saves, .settling]) }
    @Test func alsoWithExcludedNames() throws { try run(0..<200, [.folderMoves, .saves, .excluded, .settling]) }
    /// The store's replies come late: programs go on meanwhile.
    @Test func alsoWhileStepsAreUnderWay() throws { try run(0..<300, [.folderMoves, .lateReplies]) }
    @Test func alsoWithAllOfIt() throws { try run(0..<300, .alone) }

    @Test func withLostReplies() throws { try run(0..<300, [.folderMoves, .saves, .lostReplies]) }
    @Test func withAnotherClient() throws { try run(0..<300, .remote) }
    @Test func withAnotherClientThatMovesFolders() throws { try run(0..<300, [.folderMoves, .remote]) }
    @Test func withEverything() throws { try run(0..<500, .all) }
}

import FileProvider
import ItemCatalog
import Testing

@testable import SyncEngine

/// Random changes of a local tree, sent step by step to a store that refuses whatever is not legal. In the end both
/// have the same tree with the same contents.
@Suite struct PlannerSimulationTests {
    @Test(arguments: UInt64(0)..<25)
    func everyStepIsLegalAndItEnds(seed: UInt64) throws {
        try Simulation(seed: seed, []).run()
    }

    @Test(arguments: UInt64(0)..<40)
    func alsoWhenFoldersMoveIntoOneAnother(seed: UInt64) throws {
        try Simulation(seed: seed, .folderMoves).run()
    }

    @Test(arguments: UInt64(0)..<25)
    func alsoWithHardLinks(seed: UInt64) throws {
        try Simulation(seed: seed, [.folderMoves, .links]).run()
    }

    @Test(arguments: UInt64(0)..<25)
    func alsoWithSavesOfAllKinds(seed: UInt64) throws {
        try Simulation(seed: seed, [.folderMoves, .exchanges, .saves, .settling]).run()
    }

    @Test(arguments: UInt64(0)..<25)
    func alsoWithExcludedNames(seed: UInt64) throws {
        try Simulation(seed: seed, [.folderMoves, .saves, .excluded, .settling]).run()
    }

    /// The store's replies come late: programs go on meanwhile.
    @Test(arguments: UInt64(0)..<40)
    func alsoWhileStepsAreUnderWay(seed: UInt64) throws {
        try Simulation(seed: seed, [.folderMoves, .lateReplies]).run()
    }

    @Test(arguments: UInt64(0)..<80)
    func alsoWithAllOfIt(seed: UInt64) throws {
        try Simulation(seed: seed, .all).run()
    }
}

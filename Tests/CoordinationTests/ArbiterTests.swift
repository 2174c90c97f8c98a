import Coordination
import Synchronization
import Testing

/// Claims without any daemon: who is granted what, when.
@Suite struct ArbiterTests {
    /// Folder 1 has 10 and 11 in it; folder 2 has folder 3, which has 30.
    private static let parents: [Int64: Int64] = [10: 1, 11: 1, 30: 3, 3: 2]

    private static func locate(_ subject: ClaimSubject, _ parents: [Int64: Int64] = parents) -> ClaimTarget {
        guard case .item(var id) = subject else { return ClaimTarget(subject) }
        var above: Set<ClaimSubject> = []
        while let parent = parents[id] {
            above.insert(.item(parent))
            id = parent
        }
        return ClaimTarget(subject, above: above)
    }

    private func arbiter(patience: Duration = .seconds(60)) -> Arbiter {
        Arbiter(patience: patience, edition: { 0 }, locate: { Self.locate($0.subject) })
    }

    private func claim(
        _ id: String, reads: [Int64] = [], writes: [Int64] = [], purpose: String? = nil, within: [String] = [],
        presenter: String? = nil, savesFirst: Bool = false
    ) -> Claim {
        Claim(
            id: ClaimID(id), purpose: purpose ?? id, within: Set(within.map { ClaimID($0) }),
            presenter: presenter.map { PresenterID($0) }, holder: id,
            intents: reads.map { ClaimIntent(.item($0), .reading(savesFirst: savesFirst)) }
                + writes.map { ClaimIntent(.item($0), .writing(savesFirst: savesFirst, deletes: false)) })
    }

    /// A claim under way, and what became of it.
    private final class Attempt: Sendable {
        let id: ClaimID
        let task: Task<CoordinationError?, Never>
        init(_ arbiter: Arbiter, _ claim: Claim) {
            id = claim.id
            task = Task {
                do {
                    try await arbiter.claim(claim)
                    return nil
                } catch { return error as? CoordinationError }
            }
        }
    }

    /// Made, and either granted or waiting.
    private func attempt(_ arbiter: Arbiter, _ claim: Claim) async -> Attempt {
        let attempt = Attempt(arbiter, claim)
        while await !arbiter.overview().contains(where: { $0.claim.id == claim.id }) {
            if attempt.task.isCancelled { break }
            await Task.yield()
        }
        return attempt
    }

    private func granted(_ arbiter: Arbiter) async -> [String] {
        await arbiter.overview().filter(\.isGranted).map(\.claim.id.rawValue)
    }

    private func waiting(_ arbiter: Arbiter) async -> [String] {
        await arbiter.overview().filter { !$0.isGranted }.map(\.claim.id.rawValue)
    }

    @Test func manyReadOneWrites() async throws {
        let arbiter = arbiter()
        for id in ["r1", "r2"] { try await arbiter.claim(claim(id, reads: [10])) }
        let writer = await attempt(arbiter, claim("w", writes: [10]))
        #expect(await granted(arbiter) == ["r1", "r2"])
        await arbiter.end(ClaimID("r1"))
        #expect(await waiting(arbiter) == ["w"])
        await arbiter.end(ClaimID("r2"))
        #expect(await writer.task.value == nil)
        let reader = await attempt(arbiter, claim("r3", reads: [10]))
        #expect(await granted(arbiter) == ["w"])
        await arbiter.end(ClaimID("w"))
        #expect(await reader.task.value == nil)
        // Another item is nobody's business.
        try await arbiter.claim(claim("other", writes: [11]))
    }

    /// Else readers that come and go would keep a writer waiting for ever.
    @Test func whoComesLaterWaitsBehindAWriter() async throws {
        let arbiter = arbiter()
        try await arbiter.claim(claim("r1", reads: [10]))
        let writer = await attempt(arbiter, claim("w", writes: [10]))
        let late = await attempt(arbiter, claim("r2", reads: [10]))
        #expect(await waiting(arbiter) == ["w", "r2"])
        await arbiter.end(ClaimID("r1"))
        #expect(await writer.task.value == nil)
        #expect(await waiting(arbiter) == ["r2"])
        await arbiter.end(ClaimID("w"))
        #expect(await late.task.value == nil)
    }

    @Test func aWriterOfAFolderExcludesWhatIsInIt() async throws {
        let arbiter = arbiter()
        try await arbiter.claim(claim("folder", writes: [2]))
        let below = await attempt(arbiter, claim("below", reads: [30]))
        #expect(await waiting(arbiter) == ["below"])
        await arbiter.end(ClaimID("folder"))
        #expect(await below.task.value == nil)
        // And the other way round.
        let folder = await attempt(arbiter, claim("folder2", writes: [2]))
        #expect(await waiting(arbiter) == ["folder2"])
        // Who only reads a folder lets others write in it.
        try await arbiter.claim(claim("look", reads: [1]))
        try await arbiter.claim(claim("in it", writes: [10]))
        await arbiter.end(ClaimID("below"))
        #expect(await folder.task.value == nil)
    }

    @Test func onePurposeDoesNotWaitForItself() async throws {
        let arbiter = arbiter()
        try await arbiter.claim(claim("a", writes: [10], purpose: "p"))
        try await arbiter.claim(claim("b", writes: [10], purpose: "p"))
        let other = await attempt(arbiter, claim("c", reads: [10]))
        #expect(await waiting(arbiter) == ["c"])
        await arbiter.end(ClaimID("a"))
        #expect(await waiting(arbiter) == ["c"])
        await arbiter.end(ClaimID("b"))
        #expect(await other.task.value == nil)
    }

    /// As a whole or not at all: else two that want the same two in another order would each hold one.
    @Test func severalItemsAreClaimedAsOne() async throws {
        let arbiter = arbiter()
        try await arbiter.claim(claim("a", writes: [11]))
        let both = await attempt(arbiter, claim("both", writes: [10, 11]))
        #expect(await waiting(arbiter) == ["both"])
        let reversed = await attempt(arbiter, claim("reversed", writes: [11, 10]))
        await arbiter.end(ClaimID("a"))
        #expect(await both.task.value == nil)
        await arbiter.end(ClaimID("both"))
        #expect(await reversed.task.value == nil)
    }

    @Test func aCancelledClaimLetsOthersPass() async throws {
        let arbiter = arbiter()
        try await arbiter.claim(claim("r", reads: [10]))
        let writer = await attempt(arbiter, claim("w", writes: [10]))
        let late = await attempt(arbiter, claim("r2", reads: [10]))
        writer.task.cancel()
        #expect(await writer.task.value == .cancelled)
        #expect(await late.task.value == nil)
        #expect(await waiting(arbiter) == [])
    }

    /// While somebody waits for a document, it is moved into a folder that another has to himself.
    @Test func whatMovesIsWhereItIsThen() async throws {
        let places = Mutex((edition: 0, parents: Self.parents))
        let arbiter = Arbiter(
            patience: .seconds(60), edition: { places.withLock { $0.edition } },
            locate: { intent in Self.locate(intent.subject, places.withLock { $0.parents }) })
        try await arbiter.claim(claim("folder", writes: [2]))
        try await arbiter.claim(claim("first", writes: [10]))
        let late = await attempt(arbiter, claim("late", reads: [10]))
        places.withLock { $0 = (1, $0.parents.merging([10: 3]) { $1 }) }
        await arbiter.end(ClaimID("first"))
        #expect(await waiting(arbiter) == ["late"])
        await arbiter.end(ClaimID("folder"))
        #expect(await late.task.value == nil)
    }

    // MARK: Cycles

    @Test func aCycleIsAnErrorOfWhoClosesIt() async throws {
        let arbiter = arbiter()
        try await arbiter.claim(claim("a", writes: [10]))
        try await arbiter.claim(claim("b", writes: [11]))
        let first = await attempt(arbiter, claim("a2", writes: [11], within: ["a"]))
        let second = Attempt(arbiter, claim("b2", writes: [10], within: ["b"]))
        #expect(await second.task.value == .wouldDeadlock(["a", "a2", "b"]))
        await arbiter.end(ClaimID("b"))
        #expect(await first.task.value == nil)
    }

    @Test func whoReadsAndThenWantsToWriteDoesNotWaitForHimself() async throws {
        let arbiter = arbiter()
        try await arbiter.claim(claim("a", reads: [10]))
        let upgrade = Attempt(arbiter, claim("a2", writes: [10], within: ["a"]))
        #expect(await upgrade.task.value == .wouldDeadlock(["a"]))
        // With its own purpose it may.
        try await arbiter.claim(claim("a3", writes: [10], purpose: "a", within: ["a"]))
    }

    /// A writer waits for a reader, who needs something that the writer is in the queue for.
    @Test func whatIsMadeWithinAClaimDoesNotQueue() async throws {
        let arbiter = arbiter()
        try await arbiter.claim(claim("a", reads: [10]))
        let writer = await attempt(arbiter, claim("w", writes: [10, 11]))
        try await arbiter.claim(claim("a2", reads: [11], within: ["a"]))
        #expect(await waiting(arbiter) == ["w"])
        await arbiter.end(ClaimID("a2"))
        await arbiter.end(ClaimID("a"))
        #expect(await writer.task.value == nil)
    }

    /// What two daemons know of, together.
    @Test func graphsOfSeveralDaemonsAreOne() async throws {
        let (here, there) = (arbiter(), arbiter())
        try await here.claim(claim("a", writes: [10]))
        try await there.claim(claim("b", writes: [10]))
        let first = await attempt(there, claim("a2", writes: [10], within: ["a"]))
        let second = await attempt(here, claim("b2", writes: [10], within: ["b"]))
        var graph = await here.waits
        #expect(graph.cycle(through: ClaimID("b2")) == nil)
        graph.merge(await there.waits)
        #expect(Set(graph.cycle(through: ClaimID("b2")) ?? []) == Set(["a", "a2", "b", "b2"].map { ClaimID($0) }))
        first.task.cancel()
        second.task.cancel()
        _ = await (first.task.value, second.task.value)
        #expect(await here.waits.edges.isEmpty)
    }

    // MARK: Presenters

    private final class Asked: Sendable {
        private let list = Mutex<[PresenterQuestion]>([])
        func add(_ question: PresenterQuestion) { list.withLock { $0.append(question) } }
        var all: [PresenterQuestion] { list.withLock { $0 } }
        var kinds: [PresenterQuestion.Kind] { all.map(\.kind) }
    }

    private func presenter(_ id: String, of item: Int64, purpose: String? = nil, _ asked: Asked) -> Presenter {
        Presenter(id: PresenterID(id), purpose: purpose ?? id, subject: .item(item)) { asked.add($0) }
    }

    private func question(_ asked: Asked, _ kind: PresenterQuestion.Kind) async -> PresenterQuestion {
        while true {
            if let found = asked.all.last, found.kind == kind { return found }
            await Task.yield()
        }
    }

    @Test func presentersAreAskedBeforeAndToldAfter() async throws {
        let arbiter = arbiter()
        let asked = Asked()
        await arbiter.add(presenter("p", of: 10, asked))
        let reader = await attempt(arbiter, claim("r", reads: [10], savesFirst: true))
        let first = await question(asked, .relinquishToReader)
        #expect(await waiting(arbiter) == ["r"])
        await arbiter.answer(first.number, by: PresenterID("somebody else"))
        #expect(asked.kinds == [.relinquishToReader])
        await arbiter.answer(first.number, by: PresenterID("p"))
        let second = await question(asked, .saveChanges)
        await arbiter.answer(second.number, by: PresenterID("p"))
        #expect(await reader.task.value == nil)
        await arbiter.end(ClaimID("r"))
        #expect(asked.kinds == [.relinquishToReader, .saveChanges, .reacquire])
    }

    /// It saves by a claim of its own while the other one is waiting for it to do so.
    @Test func aPresenterCanSaveWhenItIsAskedTo() async throws {
        let arbiter = arbiter()
        let asked = Asked()
        await arbiter.add(presenter("p", of: 10, asked))
        let reader = await attempt(arbiter, claim("r", reads: [10], savesFirst: true))
        await arbiter.answer(await question(asked, .relinquishToReader).number, by: PresenterID("p"))
        let save = await question(asked, .saveChanges)
        try await arbiter.claim(claim("save", writes: [10], presenter: "p"))
        #expect(await waiting(arbiter) == ["r"])
        await arbiter.end(ClaimID("save"))
        await arbiter.answer(save.number, by: PresenterID("p"))
        #expect(await reader.task.value == nil)
    }

    /// It was let past, and is not done when it answers, or when it is not waited for any longer.
    @Test func whatAPresenterStillWritesIsNotRead() async throws {
        let arbiter = arbiter()
        let asked = Asked()
        await arbiter.add(presenter("p", of: 10, asked))
        let reader = await attempt(arbiter, claim("r", reads: [10]))
        let question = await question(asked, .relinquishToReader)
        try await arbiter.claim(claim("save", writes: [10], presenter: "p"))
        await arbiter.answer(question.number, by: PresenterID("p"))
        for _ in 0..<100 { await Task.yield() }
        #expect(await granted(arbiter) == ["save"])
        await arbiter.end(ClaimID("save"))
        #expect(await reader.task.value == nil)
        // It is not asked twice.
        #expect(asked.kinds == [.relinquishToReader])
    }

    /// Nobody makes or ends a claim, and still it may go on.
    @Test func whatMovesOutOfTheWayIsGranted() async throws {
        let places = Mutex((edition: 0, parents: Self.parents))
        let arbiter = Arbiter(
            patience: .seconds(60), edition: { places.withLock { $0.edition } },
            locate: { intent in Self.locate(intent.subject, places.withLock { $0.parents }) })
        try await arbiter.claim(claim("folder", writes: [1]))
        let late = await attempt(arbiter, claim("late", reads: [10]))
        places.withLock { $0 = (1, $0.parents.merging([10: 3]) { $1 }) }
        await arbiter.itemsMoved()
        #expect(await late.task.value == nil)
    }

    @Test func itsOwnPurposeIsNotAskedNorWhatIsAboveOrMetadataOnly() async throws {
        let arbiter = arbiter()
        let asked = Asked()
        await arbiter.add(presenter("p", of: 10, purpose: "mine", asked))
        try await arbiter.claim(claim("own", writes: [10], purpose: "mine"))
        await arbiter.end(ClaimID("own"))
        try await arbiter.claim(claim("folder", reads: [1]))
        await arbiter.end(ClaimID("folder"))
        let metadata = Claim(
            id: ClaimID("m"), purpose: "m",
            intents: [ClaimIntent(.item(10), .writing(savesFirst: false, deletes: false), isMetadataOnly: true)])
        try await arbiter.claim(metadata)
        await arbiter.end(ClaimID("m"))
        #expect(asked.all == [])
        // Who writes the folder writes what is in it.
        let writer = await attempt(arbiter, claim("w", writes: [1]))
        await arbiter.answer(await question(asked, .relinquishToWriter).number, by: PresenterID("p"))
        #expect(await writer.task.value == nil)
    }

    @Test func oneThatDoesNotAnswerHoldsUpNobodyForLong() async throws {
        // (Also as long as the other one has for its answers.)
        let arbiter = arbiter(patience: .seconds(3))
        let (dead, asked) = (Asked(), Asked())
        await arbiter.add(presenter("dead", of: 10, dead))
        await arbiter.add(presenter("p", of: 10, asked))
        let reader = await attempt(arbiter, claim("r", reads: [10], savesFirst: true))
        await arbiter.answer(await question(asked, .relinquishToReader).number, by: PresenterID("p"))
        await arbiter.answer(await question(asked, .saveChanges).number, by: PresenterID("p"))
        #expect(await reader.task.value == nil)
        // No second question to it.
        #expect(dead.kinds == [.relinquishToReader])
    }

    @Test func oneThatIsGoneHoldsUpNobody() async throws {
        let arbiter = arbiter()
        let asked = Asked()
        await arbiter.add(presenter("p", of: 10, asked))
        let reader = await attempt(arbiter, claim("r", reads: [10]))
        _ = await question(asked, .relinquishToReader)
        await arbiter.remove(PresenterID("p"))
        #expect(await reader.task.value == nil)
    }

    @Test func oneThatDeletesIsSaid() async throws {
        let arbiter = arbiter()
        let asked = Asked()
        await arbiter.add(presenter("p", of: 10, asked))
        let deletes = Claim(
            id: ClaimID("d"), purpose: "d",
            intents: [ClaimIntent(.item(10), .writing(savesFirst: false, deletes: true))])
        let attempt = await attempt(arbiter, deletes)
        await arbiter.answer(await question(asked, .relinquishToWriter).number, by: PresenterID("p"))
        await arbiter.answer(await question(asked, .accommodateDeletion).number, by: PresenterID("p"))
        #expect(await attempt.task.value == nil)
    }
}

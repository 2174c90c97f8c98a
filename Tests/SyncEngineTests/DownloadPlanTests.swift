import Testing

@testable import SyncEngine

@Suite struct DownloadPlanTests {
    private func stream(_ position: Int64, _ end: Int64) -> DownloadPlan.Stream {
        DownloadPlan.Stream(position: position, end: end)
    }

    @Test func aStreamCoversWhatItBringsSoon() {
        let window = DownloadPlan.window
        let running = [stream(100, 100 + 10 * window)]
        #expect(DownloadPlan.covers(running, 100))
        #expect(DownloadPlan.covers(running, 100 + window))
        #expect(!DownloadPlan.covers(running, 99))
        #expect(!DownloadPlan.covers(running, 101 + window))
        #expect(!DownloadPlan.covers([stream(100, 200)], 200))
        #expect(DownloadPlan.covers([stream(100, 200)], 199))
        #expect(!DownloadPlan.covers([], 0))
    }

    @Test func aStreamRunsToTheEndOfItsGapOrToTheNextStream() {
        let gaps: [Range<Int64>] = [0..<100, 200..<1_000]
        #expect(DownloadPlan.stream(from: 50, gaps: gaps, streams: []) == 50..<100)
        #expect(DownloadPlan.stream(from: 200, gaps: gaps, streams: []) == 200..<1_000)
        #expect(DownloadPlan.stream(from: 300, gaps: gaps, streams: [stream(600, 1_000)]) == 300..<600)
        #expect(DownloadPlan.stream(from: 300, gaps: gaps, streams: [stream(10, 100)]) == 300..<1_000)
        // The nearest one ahead counts.
        let two = [stream(900, 1_000), stream(700, 900)]
        #expect(DownloadPlan.stream(from: 300, gaps: gaps, streams: two) == 300..<700)
        // It is here already.
        #expect(DownloadPlan.stream(from: 150, gaps: gaps, streams: []) == nil)
        #expect(DownloadPlan.stream(from: 0, gaps: [], streams: []) == nil)
    }

    @Test func whatFollowsIsAheadFirst() {
        let gaps: [Range<Int64>] = [0..<100, 200..<1_000]
        #expect(DownloadPlan.following(150, gaps: gaps) == 200..<1_000)
        #expect(DownloadPlan.following(200, gaps: gaps) == 200..<1_000)
        #expect(DownloadPlan.following(1_000, gaps: gaps) == 0..<100)
        #expect(DownloadPlan.following(0, gaps: []) == nil)
    }
}

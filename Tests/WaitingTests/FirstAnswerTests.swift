import Testing
import Waiting

@Suite(.timeLimit(.minutes(5))) struct FirstAnswerTests {
    @Test func theFirstAnswerCountsAlsoBeforeAnybodyWaits() async {
        let first = FirstAnswer<Int>()
        first.resume(1)
        first.resume(2)
        #expect(await first.wait() == 1)
        #expect(await FirstAnswer.of(within: .seconds(3_600)) { 3 } == 3)
    }

    @Test func whatIsAskedNeedNotHeedThatTheTimeIsUp() async {
        let never = FirstAnswer<Int>()
        #expect(await FirstAnswer.of(within: .milliseconds(10)) { await never.wait() } == nil)
        #expect(await FirstAnswer<Int>().wait(within: .milliseconds(10), otherwise: 4) == 4)
        never.resume(0)
    }

    @Test func whoeverIsCancelledWaitsNoLonger() async {
        let never = FirstAnswer<Int>()
        let waiting = Task { await never.wait(otherwise: 5) }
        waiting.cancel()
        #expect(await waiting.value == 5)
    }
}

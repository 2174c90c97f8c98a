import Glibc
import Testing

@testable import FUSE

/// Which signals end the wait of whoever waits for an answer.
@Suite struct ThreadSignalTests {
    private static func bit(_ signal: Int32) -> UInt64 { 1 << UInt64(signal - 1) }

    private static func signals(
        own: UInt64 = 0, shared: UInt64 = 0, blocked: UInt64 = 0, ignored: UInt64 = 0, caught: UInt64 = 0
    ) -> ThreadSignals {
        func line(_ name: String, _ mask: UInt64) -> String {
            let digits = String(mask, radix: 16)
            return "\(name):\t\(String(repeating: "0", count: 16 - digits.count))\(digits)\n"
        }
        let text =
            "Name:\tSigPnd: x\nState:\tS (sleeping)\nTgid:\t7\nThreads:\t1\nSigQ:\t1/31191\n" + line("SigPnd", own)
            + line("ShdPnd", shared) + line("SigBlk", blocked) + line("SigIgn", ignored) + line("SigCgt", caught)
            + "CapInh:\t0000000000000000\n"
        return Array(text.utf8).withUnsafeBytes { ThreadSignals.of(status: $0) }
    }

    @Test func oneThatEndsTheProgramDoes() {
        #expect(Self.signals() == .wait)
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGPIPE, 40] {
            #expect(Self.signals(own: Self.bit(signal)) == .end)
            #expect(Self.signals(shared: Self.bit(signal)) == .end)
        }
    }

    @Test func oneThatIsHandledBlockedOrIgnoredDoesNot() {
        let signal = Self.bit(SIGALRM)
        #expect(Self.signals(shared: signal, caught: signal) == .wait)
        #expect(Self.signals(shared: signal, blocked: signal) == .wait)
        #expect(Self.signals(own: signal, ignored: signal) == .wait)
        #expect(Self.signals(own: signal | Self.bit(SIGTERM), caught: signal) == .end)
    }

    /// Whatever kills a process sends it to all of its threads.
    @Test func nothingKeepsSIGKILLOff() {
        #expect(Self.signals(own: Self.bit(SIGKILL), blocked: .max, caught: .max) == .end)
    }

    @Test func whatStopsAProgramDoesNotEndItsWait() {
        for signal in [SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD, SIGURG, SIGWINCH] {
            #expect(Self.signals(shared: Self.bit(signal)) == .wait)
        }
    }

    @Test func whatTheKernelDoesNotShowIsUnknown() {
        #expect(ThreadSignals.of(thread: 0) == .unknown)
        #expect(ThreadSignals.of(thread: -1) == .unknown)
        #expect(ThreadSignals.of(thread: .max) == .unknown)
        #expect(Array("Name:\tx\n".utf8).withUnsafeBytes { ThreadSignals.of(status: $0) } == .unknown)
    }

    @Test func aLivingThreadIsLookedAt() {
        #expect(ThreadSignals.of(thread: getpid()) == .wait)
    }
}

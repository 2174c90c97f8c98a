import FileProvider
import Glibc
import ItemCatalog
import Locking
import Surroundings
import Trees

/// Decides whether a program that opens a document may have it downloaded: by what it says of itself, then by the domain's own
/// rules, then by those of `config.toml`, then by ``PolicyRule/builtIn``; the first that names it holds. Of a program of which
/// nothing says anything the one decides that has started it, and so on. A program that nobody says anything of may.
package final class DownloadPolicy: Sendable {
    private struct State {
        var own: [PolicyRule] = []
        var configured: [PolicyRule] = []
        /// Decisions of a moment ago, by process.
        var recent: [Int32: Recent] = [:]
        /// How many refusals of a program were told in the present while.
        var told: [String: Int] = [:]
        var toldSince = ContinuousClock.now
        /// Whom a person has been asked about.
        var asked: Set<String> = []
    }
    private struct Recent {
        var verdict: Verdict
        /// (A process may have become another program since.)
        var executable: String?
        var moment: ContinuousClock.Instant
    }

    /// What holds for a process.
    package struct Verdict: Sendable, Equatable {
        package var decision: PolicyDecision
        package var process: CausingProcess?
        /// The program by which it was decided: the process's, or of one that has started it.
        package var program: String?
    }

    private let state = AdaptiveMutex(State())
    private let asking = Callback<String>()

    /// What open(2) says. EAGAIN is what a file says that cannot be had now and may be later; see the documentation for what
    /// programs make of it.
    package static let refusal = EAGAIN
    /// How many generations of processes are looked at: a thumbnailer starts another program in a sandbox of a third one.
    private static let generations = 8
    private static let recently: Duration = .seconds(2)
    private static let mostRecent = 256

    package init() {}

    // MARK: Rules

    /// The domain's own, before all others.
    package var own: [PolicyRule] { state.withLock { $0.own } }
    package var configured: [PolicyRule] { state.withLock { $0.configured } }

    package func setOwn(_ rules: [PolicyRule]) {
        state.withLock { state in
            state.own = rules
            state.recent = [:]
            state.asked = []
        }
    }

    package func setConfigured(_ rules: [PolicyRule]) {
        state.withLock { state in
            state.configured = rules
            state.recent = [:]
        }
    }

    /// Called with the name of a program that a person is to decide about, once until the rules change. Set once; must not
    /// block.
    package func onAsk(_ body: @escaping @Sendable (String) -> Void) { asking.set(body) }

    // MARK: Deciding

    /// - Parameter thread: that opens, as FUSE says it.
    package func verdict(onThread thread: Int32) -> Verdict {
        // The kernel itself, or a process of another pid namespace: nobody can say what it is.
        guard thread > 0 else { return Verdict(decision: .allow) }
        let now = ContinuousClock.now
        let executable = SystemFile.link("/proc/\(thread)/exe")
        if let recent = state.withLock({ $0.recent[thread] }), recent.moment + Self.recently > now,
            recent.executable == executable
        {
            return recent.verdict
        }
        let verdict = decide(thread)
        let asks = state.withLock { state -> String? in
            if state.recent.count >= Self.mostRecent { state.recent = [:] }
            state.recent[thread] = Recent(verdict: verdict, executable: executable, moment: now)
            guard verdict.decision == .ask, let program = verdict.program else { return nil }
            return state.asked.insert(program).inserted ? program : nil
        }
        if let asks { asking(asks) }
        return verdict
    }

    /// What holds for the process, or held; nobody is asked about it. Looks in `/proc`.
    package func judgement(onThread thread: Int32) -> Verdict { decide(thread) }

    /// Whether one more refusal of this program is worth telling.
    func isTold(_ verdict: Verdict) -> Bool {
        let now = ContinuousClock.now
        return state.withLock { state in
            if now - state.toldSince > Self.tellingWhile { (state.told, state.toldSince) = ([:], now) }
            let program = verdict.program ?? ""
            state.told[program, default: 0] += 1
            return state.told[program]! <= Self.mostTold
        }
    }

    private static let tellingWhile: Duration = .seconds(10)
    private static let mostTold = 50

    private func decide(_ thread: Int32) -> Verdict {
        let process = CausingProcess.of(thread: thread)
        let rules = state.withLock { $0.own + $0.configured } + PolicyRule.builtIn
        var pid = process?.pid ?? thread
        for _ in 0..<Self.generations {
            guard pid > 1, let program = ProgramIdentity(pid: pid) else { break }
            if let own = program.own {
                return Verdict(decision: own, process: process, program: program.names.first)
            }
            for rule in rules {
                guard let name = program.name(meantBy: rule) else { continue }
                return Verdict(decision: rule.decision, process: process, program: name)
            }
            pid = program.parent
        }
        return Verdict(decision: .allow, process: process)
    }
}

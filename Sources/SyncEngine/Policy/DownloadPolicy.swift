import FileProvider
import Glibc
import ItemCatalog
import Locking
import Surroundings
import Trees

/// Decides whether a program that opens a document may download it. Asks, in this order, the program's environment, the
/// domain's rules, the rules of `config.toml`, and ``PolicyRule/builtIn``; the first that names the program decides. If
/// none does, the program's parent decides, and so on. If no parent is named either, the program may.
package final class DownloadPolicy: Sendable {
    private struct State {
        var own: [PolicyRule] = []
        var configured: [PolicyRule] = []
        /// Recent decisions, by process.
        var recent: [Int32: Recent] = [:]
        /// How many refusals of a program were logged in the present period.
        var reported: [String: Int] = [:]
        var reportedSince = ContinuousClock.now
        /// Programs that a person has been asked about.
        var asked: Set<String> = []
        /// The number of changes of the rules.
        var changes = 0
    }
    private struct Recent {
        var verdict: Verdict
        /// (The process may run another program since.)
        var executable: String?
        var moment: ContinuousClock.Instant
    }

    /// The decision for a process.
    package struct Verdict: Sendable, Equatable {
        package var decision: PolicyDecision
        package var process: CausingProcess?
        /// The program that decided: the process's, or a parent's.
        package var program: String?
    }

    private let state = AdaptiveMutex(State())
    private let asking = Callback<String>()

    /// The errno of open(2). EAGAIN means that the file is not available now and may be later; the documentation says
    /// what programs do with it.
    package static let refusal = EAGAIN
    /// How many generations of processes are looked at: a thumbnailer may start a sandbox program that starts another.
    private static let generations = 8
    private static let recently: Duration = .seconds(2)
    private static let mostRecent = 256

    package init() {}

    // MARK: Rules

    /// The domain's own rules, which come before all others.
    package var own: [PolicyRule] { state.withLock { $0.own } }
    package var configured: [PolicyRule] { state.withLock { $0.configured } }

    package func setOwn(_ rules: [PolicyRule]) {
        state.withLock { state in
            state.own = rules
            state.recent = [:]
            state.asked = []
            state.changes += 1
        }
    }

    package func setConfigured(_ rules: [PolicyRule]) {
        state.withLock { state in
            state.configured = rules
            state.recent = [:]
            state.changes += 1
        }
    }

    /// Called with the name of a program that a person has to decide about, once until the rules change. Set once; must
    /// not block.
    package func onAsk(_ body: @escaping @Sendable (String) -> Void) { asking.set(body) }

    // MARK: Deciding

    /// - Parameter thread: the opening program's thread, as FUSE gives it.
    package func verdict(onThread thread: Int32) -> Verdict {
        // The kernel itself, or a process of another PID namespace, cannot be identified.
        guard thread > 0 else { return Verdict(decision: .allow) }
        let now = ContinuousClock.now
        let executable = SystemFile.link("/proc/\(thread)/exe")
        if let recent = state.withLock({ $0.recent[thread] }), recent.moment + Self.recently > now,
            recent.executable == executable
        {
            return recent.verdict
        }
        let changes = state.withLock { $0.changes }
        let verdict = decide(thread)
        let asks = state.withLock { state -> String? in
            // By rules that have changed meanwhile: the person's answer may be among the changes.
            guard state.changes == changes else { return nil }
            if state.recent.count >= Self.mostRecent { state.recent = [:] }
            state.recent[thread] = Recent(verdict: verdict, executable: executable, moment: now)
            guard verdict.decision == .ask, let program = verdict.program else { return nil }
            return state.asked.insert(program).inserted ? program : nil
        }
        if let asks { asking(asks) }
        return verdict
    }

    /// The decision for the process, without asking a person. Looks in `/proc`.
    package func judgement(onThread thread: Int32) -> Verdict { decide(thread) }

    /// Whether one more refusal of this program is worth logging.
    func shouldReport(_ verdict: Verdict) -> Bool {
        let now = ContinuousClock.now
        return state.withLock { state in
            if now - state.reportedSince > Self.reportPeriod { (state.reported, state.reportedSince) = ([:], now) }
            let program = verdict.program ?? ""
            state.reported[program, default: 0] += 1
            return state.reported[program]! <= Self.mostReports
        }
    }

    private static let reportPeriod: Duration = .seconds(10)
    private static let mostReports = 50

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

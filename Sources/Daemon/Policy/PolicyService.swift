import ControlAPI
import Foundation
import ItemCatalog
import Logging
import SyncEngine
import Trees

/// Keeps the user's rules for downloads by programs, and asks the user about programs with the rule "ask".
final class PolicyService: Sendable {
    private let mount: MountState
    private let policy: DownloadPolicy
    private let notice: PolicyNotice
    /// Serializes changes.
    private let turn = NSLock()
    private static let note = "download rules"

    init(_ engine: SyncEngine, configured: [PolicyRule], mountPoint: String) {
        mount = engine.mount
        policy = engine.reports.policy
        notice = PolicyNotice(mountPoint: mountPoint, logger: mount.logger)
        policy.setConfigured(configured)
        let text = try? mount.catalog.read { try $0.note(Self.note) }
        if let text = text.flatMap({ $0 }),
            let own = try? JSONDecoder().decode([PolicyRule].self, from: Data(text.utf8))
        {
            policy.setOwn(own)
        }
        policy.onAsk { [weak self] program in self?.ask(program) }
    }

    /// - Returns: all rules; the change is recorded when this returns.
    func change(_ changes: [DownloadRuleChange]) throws -> [DownloadRule] {
        try turn.withLock {
            var own = policy.own
            for change in changes {
                guard PolicyRule.isPossible(change.program) else {
                    throw ControlFailure(
                        code: "policy", message: "“\(change.program)”: give a program's name, without a folder")
                }
                own.removeAll { $0.program == change.program }
                if let decision = change.decision.flatMap({ PolicyDecision(rawValue: $0.rawValue) }) {
                    own.insert(PolicyRule(change.program, decision), at: 0)
                }
            }
            guard own.count <= PolicyRule.most else {
                throw ControlFailure(
                    code: "policy", message: "a domain has at most \(PolicyRule.most) rules; --forget some"
                )
            }
            if !changes.isEmpty {
                let text = String(decoding: try JSONEncoder().encode(own), as: UTF8.self)
                try mount.catalog.write { try $0.takeNote(Self.note, text) }
                policy.setOwn(own)
            }
            func all(_ rules: [PolicyRule], _ origin: DownloadRule.Origin)
                -> [DownloadRule]
            {
                rules.map { rule in
                    DownloadRule(
                        program: rule.program,
                        decision: DownloadDecision(rawValue: rule.decision.rawValue) ?? .deny, origin: origin
                    )
                }
            }
            return all(own, .domain) + all(policy.configured, .configuration)
                + all(PolicyRule.builtIn, .builtIn)
        }
    }

    private func ask(_ program: String) {
        Task(executorPreference: mount.workers) { [weak self, notice] in
            guard let decision = notice.ask(program) else { return }
            _ = try? self?.change([DownloadRuleChange(program: program, decision: decision)])
        }
    }
}

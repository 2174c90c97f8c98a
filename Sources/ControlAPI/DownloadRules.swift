/// Whether a program may have documents downloaded by opening them.
public enum DownloadDecision: String, Codable, Sendable, CaseIterable {
    case allow, deny, ask
}

/// A rule of a domain's.
public struct DownloadRule: Codable, Sendable, Equatable {
    /// Who made it, and so what goes before what.
    public enum Origin: String, Codable, Sendable {
        /// `hydrant policy`; before all others.
        case domain
        /// `config.toml`.
        case configuration
        case builtIn
    }
    /// A program's name without its folder, or a pattern (fnmatch(3)).
    public var program: String
    public var decision: DownloadDecision
    public var origin: Origin

    public init(program: String, decision: DownloadDecision, origin: Origin) {
        self.program = program
        self.decision = decision
        self.origin = origin
    }
}

/// A change of a domain's own rules.
public struct DownloadRuleChange: Codable, Sendable, Equatable {
    public var program: String
    /// Nil: the domain has no rule of its own for it any more.
    public var decision: DownloadDecision?

    public init(program: String, decision: DownloadDecision?) {
        self.program = program
        self.decision = decision
    }
}

/// Whether a program may download documents by opening them.
public enum DownloadDecision: String, Codable, Sendable, CaseIterable {
    case allow, deny, ask
}

/// A rule of a domain.
public struct DownloadRule: Codable, Sendable, Equatable {
    /// The source of a rule, which sets its precedence.
    public enum Origin: String, Codable, Sendable {
        /// `hydrant policy`, which precedes the others.
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
    /// Nil: remove the domain's own rule for the program.
    public var decision: DownloadDecision?

    public init(program: String, decision: DownloadDecision?) {
        self.program = program
        self.decision = decision
    }
}

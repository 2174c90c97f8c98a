import FileProvider

/// Rules for providers that are ``FileProvider/QuotaReporting``.
extension ConformanceSuite {
    static let quotaRules: [ConformanceRule] = [
        ConformanceRule(1601, "Used and total bytes are not negative.", in: .store) { it in
            let reason = "the store reports no quota"
            guard let provider = it.abilities.space else { throw RuleSkip(reason) }
            let quota = try await unlessUnsupported(reason) { try await provider.quota() }
            try it.require(quota.used >= 0 && (quota.total ?? 0) >= 0, "it says \(quota)")
        }
    ]
}

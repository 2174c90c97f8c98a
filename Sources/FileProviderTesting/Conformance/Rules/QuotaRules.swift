import FileProvider

/// For providers that are ``FileProvider/QuotaReporting``; the others are not asked.
extension ConformanceSuite {
    static let quotaRules: [ConformanceRule] = [
        ConformanceRule(1601, "Neither what is used nor what there is in all is negative.", in: .store) { it in
            let reason = "the store does not say how full it is"
            guard let provider = it.provider as? any QuotaReporting else { throw RuleSkip(reason) }
            let quota = try await unlessUnsupported(reason) { try await provider.quota() }
            try it.require(quota.used >= 0 && (quota.total ?? 0) >= 0, "it says \(quota)")
        }
    ]
}

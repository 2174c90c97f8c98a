package import FileProvider
import HTTPTransport

extension WebDAVProvider: QuotaReporting {
    /// Source: RFC 4331; Nextcloud returns -3 where there is no limit.
    package func quota() async throws(FileProviderError) -> StoreQuota {
        _ = try await probe.traits()
        let response = try await client.propfind(root, [.resourceType, .quotaUsed, .quotaAvailable])
        guard let used = response?.properties[.quotaUsed].flatMap({ Int64($0) }), used >= 0 else {
            throw FileProviderError(.unsupported, "\(root): the server reports no quota")
        }
        let available = response?.properties[.quotaAvailable].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
        let total = available.map { used.addingReportingOverflow($0) }
        return StoreQuota(used: used, total: total.flatMap { $0.overflow ? nil : $0.partialValue })
    }
}

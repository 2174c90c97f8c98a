import ControlAPI
import ItemCatalog
import SyncEngine
import Trees
import Volume

/// Settings that a user changes while the domain is mounted.
extension DomainService {
    func settings() -> DomainSettings {
        let context = volume.engine.context
        return DomainSettings(
            isPaused: context.pause.isOn, downloadLimit: context.transfers.downloadLimit.rate,
            uploadLimit: context.transfers.uploadLimit.rate, holdDeletions: context.catalog.hold.percent)
    }

    func setPaused(_ isPaused: Bool) async throws -> DomainSettings {
        try await volume.engine.setPaused(isPaused)
        return settings()
    }

    func limit(_ download: LimitChange, _ upload: LimitChange) -> DomainSettings {
        let transfers = volume.engine.context.transfers
        apply(download, to: transfers.downloadLimit)
        apply(upload, to: transfers.uploadLimit)
        return settings()
    }

    private func apply(_ change: LimitChange, to limit: BandwidthLimit) {
        switch change {
        case .keep: break
        case .none: limit.set(nil)
        case .bytesPerSecond(let rate): limit.set(rate)
        }
    }
}

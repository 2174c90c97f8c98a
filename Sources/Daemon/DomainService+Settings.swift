import ControlAPI
import ItemCatalog
import SyncEngine
import Trees
import Volume

/// Settings that a user changes while the domain is mounted.
extension DomainService {
    func settings() -> DomainSettings {
        let engine = volume.engine
        return DomainSettings(
            isPaused: engine.switches.pause.isOn, downloadLimit: engine.transfers.downloadLimit.rate,
            uploadLimit: engine.transfers.uploadLimit.rate, holdDeletions: engine.mount.catalog.hold.percent)
    }

    func setPaused(_ isPaused: Bool) async throws -> DomainSettings {
        try await volume.engine.setPaused(isPaused)
        return settings()
    }

    func limit(_ download: LimitChange, _ upload: LimitChange) -> DomainSettings {
        let transfers = volume.engine.transfers
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

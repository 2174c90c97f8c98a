package import FileProvider
import HTTPTransport

extension WebDAVProvider: Trashing {
    package var hasTrash: Bool { probe.traitsIfKnown?.hasTrash ?? false }

    /// DELETE puts every item there.
    package func trashItem(
        _ identifier: ItemIdentifier, baseVersion: ItemVersion
    ) async throws(FileProviderError) {
        guard try await probe.traits().hasTrash else {
            throw FileProviderError(.unsupported, "this server has no trash")
        }
        try await delete(identifier, baseVersion, toTrash: true)
    }
}

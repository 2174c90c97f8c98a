/// The optional protocols of the SDK, by name.
package enum Ability: String, Hashable, Sendable, CaseIterable {
    case changeEnumerating = "ChangeEnumerating"
    case changeSignaling = "ChangeSignaling"
    case folderVersioning = "FolderVersioning"
    case metadataUpdating = "MetadataUpdating"
    case serverSideCopying = "ServerSideCopying"
    case trashing = "Trashing"
    case trashRestoring = "TrashRestoring"
    case linkSharing = "LinkSharing"
    case favoriteKeeping = "FavoriteKeeping"
    case thumbnailProviding = "ThumbnailProviding"
    case thumbnailKeeping = "ThumbnailKeeping"
    case versionKeeping = "VersionKeeping"
    case quotaReporting = "QuotaReporting"
    case searchingProvider = "SearchingProvider"
    case signingIn = "SigningIn"
}

/// A provider that learns only at run time what its store can do, from a program in another language, say. It conforms
/// to every optional protocol, and says here which of them count.
package protocol AbilityReporting: FileProviderExtension {
    /// Must answer at once, and always the same.
    var abilities: Set<Ability> { get }
}

/// A provider's optional protocols; the one place that looks for them.
package struct ProviderAbilities: Sendable {
    package let changes: (any ChangeEnumerating)?
    package let signals: (any ChangeSignaling)?
    /// As ``signals``, where they come over a connection that may not be up.
    package let connection: (any ConnectedSignaling)?
    package let versions: (any FolderVersioning)?
    package let metadata: (any MetadataUpdating)?
    package let copies: (any ServerSideCopying)?
    package let trash: (any Trashing)?
    package let openTrash: (any TrashRestoring)?
    package let links: (any LinkSharing)?
    package let favorites: (any FavoriteKeeping)?
    package let thumbnails: (any ThumbnailProviding)?
    package let keptThumbnails: (any ThumbnailKeeping)?
    package let keptVersions: (any VersionKeeping)?
    package let space: (any QuotaReporting)?
    package let searching: (any SearchingProvider)?
    package let accounts: (any SigningIn)?

    package init(of provider: any FileProviderExtension) {
        let reported = (provider as? any AbilityReporting)?.abilities
        func counts(_ ability: Ability) -> Bool { reported?.contains(ability) ?? true }
        changes = counts(.changeEnumerating) ? provider as? any ChangeEnumerating : nil
        signals = counts(.changeSignaling) ? provider as? any ChangeSignaling : nil
        connection = signals as? any ConnectedSignaling
        versions = counts(.folderVersioning) ? provider as? any FolderVersioning : nil
        metadata = counts(.metadataUpdating) ? provider as? any MetadataUpdating : nil
        copies = counts(.serverSideCopying) ? provider as? any ServerSideCopying : nil
        trash = counts(.trashing) ? provider as? any Trashing : nil
        openTrash = counts(.trashRestoring) ? provider as? any TrashRestoring : nil
        links = counts(.linkSharing) ? provider as? any LinkSharing : nil
        favorites = counts(.favoriteKeeping) ? provider as? any FavoriteKeeping : nil
        thumbnails = counts(.thumbnailProviding) ? provider as? any ThumbnailProviding : nil
        keptThumbnails = counts(.thumbnailKeeping) ? provider as? any ThumbnailKeeping : nil
        keptVersions = counts(.versionKeeping) ? provider as? any VersionKeeping : nil
        space = counts(.quotaReporting) ? provider as? any QuotaReporting : nil
        searching = counts(.searchingProvider) ? provider as? any SearchingProvider : nil
        accounts = counts(.signingIn) ? provider as? any SigningIn : nil
    }
}

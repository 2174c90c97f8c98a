/// The terms of a link to be made: what everybody who has it may do, and for how long.
public struct LinkTerms: Hashable, Sendable {
    /// Whoever opens the link must know it; nil: nobody is asked.
    public var password: String?
    /// The link ends at this moment, or before it, as near to it as the store can: Nextcloud ends links at the
    /// beginning of a day. nil: as long as the store allows.
    public var until: FileTime?
    /// Whether the contents may be changed with it; in a folder, also whether items may be added and deleted.
    public var allowsEditing: Bool

    /// A link with these terms.
    public init(password: String? = nil, until: FileTime? = nil, allowsEditing: Bool = false) {
        self.password = password
        self.until = until
        self.allowsEditing = allowsEditing
    }
}

/// A link to an item, for everybody who has it.
public struct SharedLink: Hashable, Sendable {
    /// The store's own name for the link; at most 1,024 bytes.
    public var identifier: String
    /// The address to pass on; at most 4,096 bytes of ASCII.
    public var url: String
    /// Whether whoever opens the link is asked for a password.
    public var hasPassword: Bool
    /// The link ends at this moment; nil: never.
    public var until: FileTime?
    /// As ``LinkTerms/allowsEditing``.
    public var allowsEditing: Bool

    /// A link as the store describes it.
    public init(
        identifier: String, url: String, hasPassword: Bool = false, until: FileTime? = nil, allowsEditing: Bool = false
    ) {
        self.identifier = identifier
        self.url = url
        self.hasPassword = hasPassword
        self.until = until
        self.allowsEditing = allowsEditing
    }

    /// The largest number of links to one item that Hydrant takes.
    public static let most = 1_000

    /// Why Hydrant does not show this link; nil when it does.
    public var problem: String? {
        if identifier.isEmpty || identifier.utf8.count > 1_024 { return "its identifier is empty or too long" }
        let isText = url.utf8.allSatisfy { $0 > 32 && $0 < 127 }
        return url.isEmpty || url.utf8.count > 4_096 || !isText ? "its address is not a URL" : nil
    }
}

/// A provider whose store gives out links, with which people who have no account there open a document or a folder.
///
/// Source: Nextcloud, OCS Share API (public links).
public protocol LinkSharing: FileProviderExtension {
    /// Makes another link to an item; links made before stay.
    ///
    /// - Returns: the link as the store made it. It ends no later than the terms say, asks for the password, and allows
    ///   what they allow: otherwise throw, and leave no link behind.
    /// - Throws: ``FileProviderError/Code/unsupported`` when this store gives out no links, or none with these terms;
    ///   ``FileProviderError/Code/permissionDenied`` when this user may not share the item.
    func shareLink(
        to identifier: ItemIdentifier, terms: LinkTerms
    ) async throws(FileProviderError) -> SharedLink

    /// The links to an item that this user has made and that have not ended, in any order; at most
    /// ``SharedLink/most``. A link to a folder above is none of them.
    ///
    /// - Throws: ``FileProviderError/Code/unsupported`` when this store gives out no links.
    func sharedLinks(to identifier: ItemIdentifier) async throws(FileProviderError) -> [SharedLink]

    /// Ends a link: after the return nobody opens the item with it.
    ///
    /// - Parameter link: ``SharedLink/identifier`` of one of the item's links.
    /// - Throws: ``FileProviderError/Code/noSuchItem`` when the item has no such link (any more).
    func endSharedLink(_ link: String, to identifier: ItemIdentifier) async throws(FileProviderError)
}

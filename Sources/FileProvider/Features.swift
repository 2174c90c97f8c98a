/// A provider whose store can copy documents: a copy within the mount is not uploaded.
///
/// Source: RFC 4918, 9.8 (COPY); Amazon S3, CopyObject.
public protocol ServerSideCopying: FileProviderExtension {
    /// Makes a new document with the contents of another.
    ///
    /// - Parameters:
    ///   - version: the contents to copy.
    ///   - template: the folder and the name of the copy; as for `createItem`.
    /// - Throws: ``FileProviderError/Code/versionMismatch`` when the store has other contents by now;
    ///   ``FileProviderError/Code/filenameCollision`` with the item that has the name;
    ///   ``FileProviderError/Code/unsupported`` when the store cannot copy this document: Hydrant then uploads it.
    func copyItem(
        _ identifier: ItemIdentifier, version: ContentVersion, as template: ItemTemplate
    ) async throws(FileProviderError) -> Item
}

/// A provider whose store has a trash: deleted items go there instead of being destroyed.
///
/// Source: Apple, `NSFileProviderItemIdentifier.trashContainer`.
public protocol Trashing: FileProviderExtension {
    /// Whether this store has a trash after all; one provider may serve stores with and without. Must answer at once,
    /// from what is known. Default: true.
    var hasTrash: Bool { get }

    /// Moves a document, a link or an empty folder out of its folder into the store's trash.
    ///
    /// - Throws: as `deleteItem`; ``FileProviderError/Code/unsupported`` when the store cannot trash this item: Hydrant
    ///   then deletes it.
    func trashItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(FileProviderError)
}

extension Trashing {
    /// The store has a trash.
    public var hasTrash: Bool { true }
}

/// A provider that knows how many uploads its store takes at once. The default is 16.
package protocol ParallelUploading: FileProviderExtension {
    /// The number may change: Hydrant asks again before each upload. Beyond 16 it sends only small documents.
    var uploadsAtOnce: Int { get }
}

/// A small picture of a document.
public struct Thumbnail: Hashable, Sendable {
    /// PNG or JPEG.
    public var bytes: [UInt8]
    /// The picture, as its file has it.
    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// The largest width and height of a thumbnail that a store is asked to keep.
    public static let pixels = 1_024
    /// The largest file of a thumbnail that a store is asked to keep, in bytes.
    public static let mostBytes = 4 << 20
}

/// A provider whose store makes thumbnails: file managers show them without downloading the document.
///
/// Source: Apple, `NSFileProviderThumbnailing`.
public protocol ThumbnailProviding: FileProviderExtension {
    /// A picture that fits into a square of `size` pixels; nil when the store has none for this document. A picture
    /// that a program gave the document (``ThumbnailKeeping``) is returned as it is.
    ///
    /// - Throws: ``FileProviderError/Code/versionMismatch`` when the store has other contents by now.
    func thumbnail(
        of identifier: ItemIdentifier, version: ContentVersion, size: Int
    ) async throws(FileProviderError) -> Thumbnail?
}

/// A provider whose store keeps the pictures that programs give the documents they save, so that other machines can
/// show a document's picture without downloading the document.
///
/// ``ThumbnailProviding/thumbnail(of:version:size:)`` returns a kept picture for this version, whatever `size` is. The
/// picture stays with the document when the document is moved, and is not an item. When the document's contents change,
/// whoever changed them, the store drops the picture.
///
/// Source: Apple, `URLResourceKey.thumbnailDictionaryKey`.
public protocol ThumbnailKeeping: ThumbnailProviding {
    /// Whether this store keeps pictures after all; one provider may serve stores that do and stores that do not. Must
    /// answer at once, from what is known. Default: true.
    var keepsThumbnails: Bool { get }

    /// Keeps a picture of a document, replacing the one that it has. Hydrant calls it after the upload of the contents.
    ///
    /// - Parameter thumbnail: a PNG of at most ``Thumbnail/pixels`` in each direction and ``Thumbnail/mostBytes``.
    /// - Throws: ``FileProviderError/Code/versionMismatch`` when the store has other contents by now, and
    ///   ``FileProviderError/Code/noSuchItem`` when the document is gone: Hydrant then drops the picture.
    ///   ``FileProviderError/Code/unsupported`` when the store cannot keep a picture of this document: then only this
    ///   machine has it.
    func keepThumbnail(
        _ thumbnail: Thumbnail, of identifier: ItemIdentifier, version: ContentVersion
    ) async throws(FileProviderError)
}

extension ThumbnailKeeping {
    /// The store keeps pictures.
    public var keepsThumbnails: Bool { true }
}

/// How full a store is, in bytes.
public struct StoreQuota: Hashable, Sendable {
    /// The bytes that documents, and all else that the store counts, take.
    public var used: Int64
    /// nil: no limit, or none known.
    public var total: Int64?

    /// The figures at this moment.
    public init(used: Int64, total: Int64?) {
        self.used = used
        self.total = total
    }
}

/// A provider whose store reports its free space, for `df`.
///
/// Source: RFC 4331.
public protocol QuotaReporting: FileProviderExtension {
    /// Called now and then in the background; `statfs` answers with the last result.
    func quota() async throws(FileProviderError) -> StoreQuota
}

/// A provider whose store has favourites: documents and folders that this user has marked. ``Item/isFavorite`` says
/// which; programs read and set the mark as the extended attribute `user.hydrant.favorite`.
///
/// Source: Apple, `NSFileProviderItem.favoriteRank`; Nextcloud, `oc:favorite`.
public protocol FavoriteKeeping: FileProviderExtension {
    /// Whether this store has favourites after all; one provider may serve stores that do and stores that do not. Must
    /// answer at once, from what is known. Default: true.
    var keepsFavorites: Bool { get }

    /// Marks an item, or takes the mark away; the contents and all else stay. Also for items that may not be changed
    /// (``ItemCapabilities``), if the store's favourites are this user's own.
    ///
    /// - Returns: the item as it is now.
    func setFavorite(_ isFavorite: Bool, of identifier: ItemIdentifier) async throws(FileProviderError) -> Item
}

extension FavoriteKeeping {
    /// The store has favourites.
    public var keepsFavorites: Bool { true }
}

/// A provider whose store can copy a document by itself: what a program copies within the mount is not uploaded.
///
/// Source: RFC 4918, 9.8 (COPY); Amazon S3, CopyObject.
public protocol ServerSideCopying: FileProviderExtension {
    /// Makes a new document with the contents of another.
    ///
    /// - Parameters:
    ///   - version: the contents that are wanted.
    ///   - template: where the copy is to be and what it is called; as for `createItem`.
    /// - Throws: ``FileProviderError/Code/versionMismatch`` when the store has other contents by now;
    ///   ``FileProviderError/Code/filenameCollision`` with the item that has the name;
    ///   ``FileProviderError/Code/unsupported`` when it cannot copy this one: then it is uploaded.
    func copyItem(
        _ identifier: ItemIdentifier, version: ContentVersion, as template: ItemTemplate
    ) async throws(FileProviderError) -> Item
}

/// A provider whose store has a trash: what programs delete goes there instead of being destroyed.
///
/// Source: Apple, `NSFileProviderItemIdentifier.trashContainer`.
public protocol Trashing: FileProviderExtension {
    /// Whether this store has a trash after all; a provider may serve some that have and some that have not. Must answer
    /// at once, from what is known. Default: true.
    var hasTrash: Bool { get }

    /// Moves a document, a link or an empty folder to the store's trash; it is no longer in its folder.
    ///
    /// - Throws: as `deleteItem`; ``FileProviderError/Code/unsupported`` when this one cannot be trashed: then it is
    ///   deleted.
    func trashItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(FileProviderError)
}

extension Trashing {
    /// It has one.
    public var hasTrash: Bool { true }
}

/// A provider that knows how many documents may be on their way to its store at once. Others get 16.
package protocol ParallelUploading: FileProviderExtension {
    /// It may change; asked again before each is sent. More than 16 are only small ones.
    var uploadsAtOnce: Int { get }
}

/// A small picture of a document.
public struct Thumbnail: Hashable, Sendable {
    /// PNG or JPEG.
    public var bytes: [UInt8]
    /// The picture, as its file has it.
    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// Width and height at most of one that a store is asked to keep.
    public static let pixels = 1_024
    /// The same, of its file.
    public static let mostBytes = 4 << 20
}

/// A provider whose store makes thumbnails: file managers show them without downloading the document.
///
/// Source: Apple, `NSFileProviderThumbnailing`.
public protocol ThumbnailProviding: FileProviderExtension {
    /// A picture that fits into a square of `size` pixels; nil when there is none for such a document. One that a program gave the
    /// document (``ThumbnailKeeping``) comes as it is.
    ///
    /// - Throws: ``FileProviderError/Code/versionMismatch`` when the store has other contents by now.
    func thumbnail(
        of identifier: ItemIdentifier, version: ContentVersion, size: Int
    ) async throws(FileProviderError) -> Thumbnail?
}

/// A provider whose store keeps the pictures that programs give the documents they save, so that other machines have a document's
/// picture before the document.
///
/// A picture that is kept is what ``ThumbnailProviding/thumbnail(of:version:size:)`` answers for this version, whatever size is asked
/// for; it goes with the document wherever that is moved, and no one sees it as an item. When the contents change, by whomever, it is
/// the picture of contents that are no more, and is gone.
///
/// Source: Apple, `URLResourceKey.thumbnailDictionaryKey`.
public protocol ThumbnailKeeping: ThumbnailProviding {
    /// Whether this store keeps them after all; a provider may serve some that do and some that do not. Must answer at once, from
    /// what is known. Default: true.
    var keepsThumbnails: Bool { get }

    /// Keeps a picture of a document, in the place of the one that it has. It is called after the contents are in the store.
    ///
    /// - Parameter thumbnail: a PNG of at most ``Thumbnail/pixels`` in each direction and ``Thumbnail/mostBytes``.
    /// - Throws: ``FileProviderError/Code/versionMismatch`` when the store has other contents by now, and
    ///   ``FileProviderError/Code/noSuchItem`` when it is gone: then nobody needs the picture.
    ///   ``FileProviderError/Code/unsupported`` when the store cannot keep one of this document: then this machine alone has it.
    func keepThumbnail(
        _ thumbnail: Thumbnail, of identifier: ItemIdentifier, version: ContentVersion
    ) async throws(FileProviderError)
}

extension ThumbnailKeeping {
    /// It does.
    public var keepsThumbnails: Bool { true }
}

/// How full a store is, in bytes.
public struct StoreQuota: Hashable, Sendable {
    /// What its documents, and whatever else counts, take.
    public var used: Int64
    /// nil: there is no limit, or none that is known.
    public var total: Int64?

    /// How full it is now.
    public init(used: Int64, total: Int64?) {
        self.used = used
        self.total = total
    }
}

/// A provider whose store says how much room it has: `df` shows it.
///
/// Source: RFC 4331.
public protocol QuotaReporting: FileProviderExtension {
    /// Asked now and then in the background; `statfs` answers from what was said last.
    func quota() async throws(FileProviderError) -> StoreQuota
}

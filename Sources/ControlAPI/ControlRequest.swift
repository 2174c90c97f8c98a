public import Foundation

/// What the command asks of the daemon.
///
/// Paths are relative to the mount point, without a leading slash; the mount point itself is the empty
/// path.
public enum ControlRequest: Codable, Sendable, Equatable {
    /// How the named items are; answered with ``ControlResponse/items(_:)`` in the order of `paths`. With
    /// no paths: the domain, and every item that is modified or in error, answered with
    /// ``ControlResponse/domain(_:items:)``.
    case status(paths: [PathBytes])
    /// Drop the bytes of these documents, and of all in these folders, from this machine; answered with
    /// ``ControlResponse/outcomes(_:)``.
    case evict(paths: [PathBytes])
    /// Bring the bytes of these documents, and of all in these folders, to this machine; answered with
    /// ``ControlResponse/outcomes(_:)`` when they are all here or have failed.
    case download(paths: [PathBytes])
    /// Keep these documents, and all that is and will be in these folders, on this machine; answered with
    /// ``ControlResponse/outcomes(_:)``, how many bytes are still to come, when that is recorded; with `waits` when
    /// nothing is to come any more.
    case pin(paths: [PathBytes], waits: Bool)
    /// No longer; answered with ``ControlResponse/outcomes(_:)``.
    case unpin(paths: [PathBytes])
    /// Send what is pending now, not after its settle time, and wait until it is done, at most
    /// `timeoutSeconds` (nil: for ever); answered with ``ControlResponse/synced(pending:)``.
    case sync(timeoutSeconds: Double?)
    /// Uploads, and downloads that nobody waits for, stand still until ``resume``; answered with
    /// ``ControlResponse/settings(_:)`` when that is recorded.
    case pause
    case resume
    /// Changes how fast all transfers together may be, until the unmount; answered with
    /// ``ControlResponse/settings(_:)``. With two times ``LimitChange/keep`` it only asks.
    case limit(download: LimitChange, upload: LimitChange)
    /// The last so many events, and with `follows` those to come, as ``ControlNews/events(_:)``; answered with
    /// ``ControlResponse/done`` after the last one (with `follows` never).
    case events(last: Int, follows: Bool)
    /// Carry out a request (``download(paths:)``, ``pin(paths:waits:)`` or ``sync(timeoutSeconds:)``), and say in
    /// ``ControlNews/progress(_:)`` how far it is; answered as that.
    indirect case reporting(ControlRequest)
    /// The mount is about to go: answered with ``ControlResponse/domain(_:items:)``, with what is pending.
    case prepareUnmount
    /// There may be another password for the store; answered with ``ControlResponse/done``.
    case credentialsChanged
    /// Sign out: nothing is found or opened from then on, and what no program uses goes at once. The rest goes when the
    /// mount, which is for the one who asks to detach, has ended. Answered with ``ControlResponse/signedOut(putAside:)``.
    case signOut(SignOutRequest)
    /// Is somebody there? Answered with ``ControlResponse/pong(pid:)``.
    case ping
    /// A picture of a document that fits into a square of `size` pixels, without downloading the document; answered with
    /// ``ControlResponse/thumbnail(_:)``.
    case thumbnail(path: PathBytes, size: Int)
    /// The user's program has put a picture of a document into the user's cache of thumbnails; answered with
    /// ``ControlResponse/done``. It goes from there with the document, and with the others of the domain.
    case noteThumbnail(path: PathBytes, CachedThumbnailNote)
    /// A program gives a document that it has saved its picture: a PNG of at most ``GivenThumbnail/pixels`` and
    /// ``GivenThumbnail/bytes``. Answered with ``ControlResponse/thumbnailGiven(_:)`` when the picture is kept, so that it survives
    /// a restart; with the failure ``ControlFailure/otherContents``, and nothing kept, when the document has others than
    /// `contents` by now. Without `contents` it is that of the contents that the document has.
    case giveThumbnail(path: PathBytes, picture: Data, contents: SavedContents?)

    /// Try pending changes of these items, and of all in them, now (no paths: of all); answered with
    /// ``ControlResponse/synced(pending:)``, what of it is still pending, when each was tried or the time is up.
    case retry(paths: [PathBytes], timeoutSeconds: Double)
    /// Give up the local changes of these items; answered with ``ControlResponse/discards(_:)``. Without `agreed`
    /// nothing is done, and the answer says what would go; with it that is done, unless it is something else by now.
    case discard(paths: [PathBytes], agreed: [DiscardedChange]?)
    /// Answered with ``ControlResponse/conflicts(_:)``: all that nobody has resolved.
    case conflicts
    /// End the conflict that this item is the original or the copy of; answered with ``ControlResponse/conflicts(_:)``:
    /// what it was. If deletions in the store are held of it or of what is in it, these are resolved; answered with
    /// ``ControlResponse/deletions(_:)``.
    case resolve(path: PathBytes, keep: KeptVersion)

    /// These are two versions of one document, which both were kept; answered with ``ControlResponse/done`` when that is recorded.
    case noteConflict(original: PathBytes, copy: PathBytes)

    /// Claim items: says ``ControlNews/granted(_:)`` when nobody else uses them, and holds them until the connection is
    /// closed; answered only with a failure.
    case coordinate(CoordinationRequest)
    /// A claim of this connection's user does not end before this process has; answered with ``ControlResponse/done``.
    case bindClaim(id: String, pid: Int32)
    /// Who holds items and who waits for them; answered with ``ControlResponse/claims(_:)``.
    case claims
    /// Say in ``ControlNews/presenter(_:)`` what others do with an item, until the connection is closed.
    case present(PresenterRequest)
    /// A presenter has done what it was asked; answered with ``ControlResponse/done``.
    case answer(presenter: String, question: Int)

    /// Make a bookmark; answered with ``ControlResponse/bookmark(_:)``.
    case makeBookmark(BookmarkRequest)
    /// What a bookmark stands for; answered with ``ControlResponse/resolved(_:)``, or with the failure
    /// ``ControlFailure/notMine`` when another domain made it.
    case resolveBookmark(Data)
    /// The same bookmark, as the item is now; answered as ``makeBookmark(_:)``.
    case renewBookmark(Data)
    /// Answered with ``ControlResponse/grants(_:)``.
    case grants
    /// Who accesses something by this grant loses it; answered with ``ControlResponse/grants(_:)``: what it was.
    case revokeGrant(id: String)
    /// The same, of all grants there are.
    case revokeAllGrants
    /// Use what a bookmark grants: says ``ControlNews/access(_:)`` when the item is where a sandbox can bind it, and keeps it
    /// there until the connection is closed; answered only with a failure.
    case access(AccessRequest)
    /// Where in the domain what has this name in a scoped folder is, or would be; answered with
    /// ``ControlResponse/place(_:)``.
    case scopedPlace(token: String, name: PathBytes)

    /// The domain as a whole; answered with ``ControlResponse/domain(_:items:)``, without items.
    case domain
    /// Bring a document, and say in ``ControlNews/progress(_:)`` how far it is; answered with
    /// ``ControlResponse/outcomes(_:)``. When the connection is closed it goes on, and whoever asks next joins it.
    case fetch(path: PathBytes)
    /// Nobody wants it any more; answered with ``ControlResponse/done``.
    case cancelFetch(path: PathBytes)
    /// As ``status(paths:)`` of one item that its provider may just have made in the store.
    case locate(path: PathBytes)
    /// Who may have documents downloaded by opening them: changes the domain's own rules, which are recorded when it is
    /// answered, with ``ControlResponse/policy(_:)``: all rules, the first that fits before others.
    case policy([DownloadRuleChange])
    /// Find items: says ``ControlNews/query(_:)`` for what is found, and goes on with what changes until the connection is closed;
    /// answered with ``ControlResponse/done`` when all was found and the query is not live.
    case query(QueryRequest)
    /// What a query said with this question has arrived; answered with ``ControlResponse/done``.
    case queryTaken(id: String, question: Int)
    /// Answered with ``ControlResponse/done`` when all live queries know what was committed before this, or after five seconds.
    case settleQueries
    /// Whether the texts of documents that are here are indexed from now on (nil: as before); answered with
    /// ``ControlResponse/textIndex(_:)`` when that is recorded. Without it the index is removed.
    case textIndex(isOn: Bool?)
    /// Whether pictures of the documents in folders that somebody looks at are put into the user's cache of thumbnails (nil: as
    /// before); answered with ``ControlResponse/thumbnails(_:)`` when that is recorded. Off takes out what was put there.
    case thumbnails(isOn: Bool?)
    /// How items are, whether or not they are here; answered with ``ControlResponse/promised(_:)`` in the order of `paths`.
    case promised(paths: [PathBytes], wantsTags: Bool, thumbnail: Int?)
    /// The copy in this folder is removed when its process has ended; answered with ``ControlResponse/done``, at once.
    case keepImport(folder: String)
}

/// What becomes of a bandwidth limit.
public enum LimitChange: Codable, Sendable, Equatable {
    case keep
    case none
    case bytesPerSecond(Int64)
}

/// How to sign out.
public struct SignOutRequest: Codable, Sendable, Equatable {
    /// Although changes are pending: the documents among them are put aside first.
    public var force: Bool
    /// Where; absolute. What programs that still have documents open write afterwards goes there as well.
    public var folder: String

    public init(force: Bool, folder: String) {
        self.force = force
        self.folder = folder
    }
}

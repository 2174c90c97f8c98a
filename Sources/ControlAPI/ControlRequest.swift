public import Foundation

/// A client's request to the daemon.
///
/// Paths are relative to the mount point, without a leading slash; the mount point itself is the empty
/// path.
public enum ControlRequest: Codable, Sendable, Equatable {
    /// Ask for the status of items; answered with ``ControlResponse/items(_:)`` in the order of `paths`. Without paths:
    /// the domain, and every item that is modified or in error, answered with ``ControlResponse/domain(_:items:)``.
    case status(paths: [PathBytes])
    /// Evict documents, and all documents in folders; answered with ``ControlResponse/outcomes(_:)``.
    case evict(paths: [PathBytes])
    /// Download documents, and all documents in folders; answered with ``ControlResponse/outcomes(_:)`` when all are
    /// here or have failed.
    case download(paths: [PathBytes])
    /// Pin documents, and folders with everything that is and will be in them; answered with
    /// ``ControlResponse/outcomes(_:)``, which has the bytes still to come: when the pins are recorded, or, with
    /// `waits`, when all bytes are here.
    case pin(paths: [PathBytes], waits: Bool)
    /// Unpin items; answered with ``ControlResponse/outcomes(_:)``.
    case unpin(paths: [PathBytes])
    /// Send pending changes now, without their settle time, and wait until all are sent, at most `timeoutSeconds` (nil:
    /// for ever); answered with ``ControlResponse/synced(pending:)``.
    case sync(timeoutSeconds: Double?)
    /// Stop uploads, and downloads that nobody waits for, until ``resume``; answered with
    /// ``ControlResponse/settings(_:)`` when the pause is recorded.
    case pause
    case resume
    /// Change the speed limits of all transfers, until the unmount; answered with ``ControlResponse/settings(_:)``.
    /// With ``LimitChange/keep`` for both, only ask.
    case limit(download: LimitChange, upload: LimitChange)
    /// Send the last `last` events, and with `follows` new ones, as ``ControlNews/events(_:)``; answered with
    /// ``ControlResponse/done`` after the last one (with `follows` never).
    case events(last: Int, follows: Bool)
    /// Carry out a request (``download(paths:)``, ``pin(paths:waits:)`` or ``sync(timeoutSeconds:)``), and send its
    /// progress as ``ControlNews/progress(_:)``; answered as that request.
    indirect case reporting(ControlRequest)
    /// Prepare for an unmount; answered with ``ControlResponse/domain(_:items:)``, which has the pending changes.
    case prepareUnmount
    /// Read the store's password again, which may be new; answered with ``ControlResponse/done``.
    case credentialsChanged
    /// Sign out: from then on programs find and open nothing, and the daemon removes at once what no program uses. The
    /// client then detaches the mount; the daemon removes the rest when the mount has ended. Answered with
    /// ``ControlResponse/signedOut(putAside:)``.
    case signOut(SignOutRequest)
    /// Check that the daemon answers; answered with ``ControlResponse/pong(pid:)``.
    case ping
    /// Make a thumbnail that fits into a square of `size` pixels, without downloading the document; answered with
    /// ``ControlResponse/thumbnail(_:)``.
    case thumbnail(path: PathBytes, size: Int)
    /// Note that a program has put a document's thumbnail into the user's thumbnail cache; answered with
    /// ``ControlResponse/done``. The daemon removes the thumbnail with the document, and with the domain's other
    /// thumbnails.
    case noteThumbnail(path: PathBytes, CachedThumbnailNote)
    /// Give a document that a program has saved its thumbnail: a PNG of at most ``GivenThumbnail/pixels`` and
    /// ``GivenThumbnail/bytes``. Answered with ``ControlResponse/thumbnailGiven(_:)`` when the picture is kept durably;
    /// with the failure ``ControlFailure/otherContents``, and nothing kept, when the document no longer has `contents`.
    /// Without `contents` the picture is of the document's present contents.
    case giveThumbnail(path: PathBytes, picture: Data, contents: SavedContents?)

    /// Try the pending changes of these items, and of everything in them, now (no paths: all); answered with
    /// ``ControlResponse/synced(pending:)`` when each was tried or the time is up.
    case retry(paths: [PathBytes], timeoutSeconds: Double)
    /// Discard the local changes of these items; answered with ``ControlResponse/discards(_:)``. Without `agreed`, only
    /// list what would be lost; with `agreed`, discard that, unless it has changed meanwhile.
    case discard(paths: [PathBytes], agreed: [DiscardedChange]?)
    /// List unresolved conflicts; answered with ``ControlResponse/conflicts(_:)``.
    case conflicts
    /// End the conflict whose original or copy this item is; answered with ``ControlResponse/conflicts(_:)``, which has
    /// the ended conflict. If deletions of the item, or in it, are held, resolve these; answered with
    /// ``ControlResponse/deletions(_:)``.
    case resolve(path: PathBytes, keep: KeptVersion)

    /// Record that these are two kept versions of one document; answered with ``ControlResponse/done``.
    case noteConflict(original: PathBytes, copy: PathBytes)

    /// Claim items: the daemon sends ``ControlNews/granted(_:)`` when nobody else uses them, and holds them until the
    /// connection closes; answered only with a failure.
    case coordinate(CoordinationRequest)
    /// Hold a claim of this user until a process has ended; answered with ``ControlResponse/done``.
    case bindClaim(id: String, pid: Int32)
    /// List the programs that hold items or wait for them; answered with ``ControlResponse/claims(_:)``.
    case claims
    /// Register a presenter: the daemon sends ``ControlNews/presenter(_:)`` about an item until the connection closes.
    case present(PresenterRequest)
    /// Answer a question to a presenter; answered with ``ControlResponse/done``.
    case answer(presenter: String, question: Int)

    /// Make a bookmark; answered with ``ControlResponse/bookmark(_:)``.
    case makeBookmark(BookmarkRequest)
    /// Resolve a bookmark; answered with ``ControlResponse/resolved(_:)``, or with the failure
    /// ``ControlFailure/notMine`` when another domain made it.
    case resolveBookmark(Data)
    /// Make the same bookmark of the item as it is now; answered as ``makeBookmark(_:)``.
    case renewBookmark(Data)
    /// List the grants; answered with ``ControlResponse/grants(_:)``.
    case grants
    /// Revoke a grant, and end every access by it; answered with ``ControlResponse/grants(_:)``, which has the grant.
    case revokeGrant(id: String)
    /// Revoke all grants; answered with ``ControlResponse/grants(_:)``.
    case revokeAllGrants
    /// Use a bookmark's right: the daemon sends ``ControlNews/access(_:)`` when the item is where a sandbox can bind
    /// it, and keeps it there until the connection closes; answered only with a failure.
    case access(AccessRequest)
    /// Ask for the path in the domain of a name in a scoped folder, whether or not it exists; answered with
    /// ``ControlResponse/place(_:)``.
    case scopedPlace(token: String, name: PathBytes)

    /// Ask for the status of the domain; answered with ``ControlResponse/domain(_:items:)``, without items.
    case domain
    /// Download a document, and send the progress as ``ControlNews/progress(_:)``; answered with
    /// ``ControlResponse/outcomes(_:)``. The download goes on when the connection closes, and a later request joins it.
    case fetch(path: PathBytes)
    /// Cancel a download that ``fetch(path:)`` began; answered with ``ControlResponse/done``.
    case cancelFetch(path: PathBytes)
    /// As ``status(paths:)`` of one item that its provider may just have made in the store.
    case locate(path: PathBytes)
    /// Change the domain's own rules of which programs may download by opening documents; answered with
    /// ``ControlResponse/policy(_:)`` when the change is recorded: all rules, in order of precedence.
    case policy([DownloadRuleChange])
    /// Find items: the daemon sends ``ControlNews/query(_:)`` for results, and, if the query is live, for changes until
    /// the connection closes; answered with ``ControlResponse/done`` when all is found and the query is not live.
    case query(QueryRequest)
    /// Confirm a query's news with this question; answered with ``ControlResponse/done``.
    case queryTaken(id: String, question: Int)
    /// Wait until all live queries know what was committed before, at most five seconds; answered with
    /// ``ControlResponse/done``.
    case settleQueries
    /// Switch the index of documents' text on or off (nil: ask); answered with ``ControlResponse/textIndex(_:)`` when
    /// that is recorded. Off removes the index.
    case textIndex(isOn: Bool?)
    /// Switch thumbnails on or off (nil: ask): of the documents in folders that somebody looks at, in the user's
    /// thumbnail cache. Answered with ``ControlResponse/thumbnails(_:)`` when that is recorded. Off removes the
    /// thumbnails.
    case thumbnails(isOn: Bool?)
    /// Describe items, here or not; answered with ``ControlResponse/promised(_:)`` in the order of `paths`.
    case promised(paths: [PathBytes], wantsTags: Bool, thumbnail: Int?)
    /// List the versions that the store keeps of a document, at most `limit`; answered with
    /// ``ControlResponse/versions(_:)``, the newest first.
    case versions(path: PathBytes, limit: Int)
    /// Write all bytes of a version into an empty file that the client has open for writing under this descriptor;
    /// answered with ``ControlResponse/done`` when they are in the file, not yet durable.
    case copyVersion(path: PathBytes, version: VersionStatus, descriptor: Int32)
    /// Remove the copy in this folder when its process has ended; answered with ``ControlResponse/done``, at once.
    case keepImport(folder: String)
    /// Make, list or end the store's links to an item; answered with ``ControlResponse/links(_:)``: the made one, all,
    /// or the ended ones.
    case links(path: PathBytes, LinkRequest)
    /// List the store's trash; answered with ``ControlResponse/trashed(_:more:)``, the last deleted first.
    case trash
    /// Take an item out of the store's trash: the one of this identifier, or else the one that was at this path (nil:
    /// not looked for); answered with ``ControlResponse/restored(_:)``.
    case restoreTrashed(id: String, path: PathBytes?)
}

/// A change of a speed limit.
public enum LimitChange: Codable, Sendable, Equatable {
    case keep
    case none
    case bytesPerSecond(Int64)
}

/// A request to sign out.
public struct SignOutRequest: Codable, Sendable, Equatable {
    /// Sign out although changes are pending; put the changed documents aside first.
    public var force: Bool
    /// The absolute path of the folder to put them into. Documents that programs have open, and write later, go there
    /// too.
    public var folder: String

    public init(force: Bool, folder: String) {
        self.force = force
        self.folder = folder
    }
}

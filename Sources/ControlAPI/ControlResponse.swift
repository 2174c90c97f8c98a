public import Foundation

/// The daemon's answer.
public enum ControlResponse: Codable, Sendable, Equatable {
    case items([ItemStatus])
    case domain(DomainStatus, items: [ItemStatus])
    /// One for each path that was asked for, in that order.
    case outcomes([PathOutcome])
    /// The changes that are still pending.
    case synced(pending: [PendingChange])
    case pong(pid: Int32)
    case thumbnail(DocumentThumbnail)
    case thumbnailGiven(GivenThumbnail)
    case settings(DomainSettings)
    /// The request was carried out; there is nothing more to say.
    case done
    /// News before the answer, for the requests that have any.
    case news(ControlNews)
    /// The request as a whole was not carried out.
    case failure(ControlFailure)

    case discards([DiscardedChange])
    case conflicts([ConflictStatus])
    case deletions(ResolvedDeletions)
    /// The oldest first.
    case claims([ClaimStatus])

    case bookmark(Data)
    /// How many changes were put aside, in the request's folder.
    case signedOut(putAside: Int)
    case resolved(ResolvedBookmark)
    case grants([GrantStatus])
    /// Relative to the mount point.
    case place(PathBytes)
    case promised([PromisedItem])
    case textIndex(TextIndexStatus)
    case thumbnails(ThumbnailStatus)
    case policy([DownloadRule])
    case versions([VersionStatus])
    case links([LinkStatus])
    /// The last deleted first; `more`: so many others did not fit into the answer; nil: none.
    case trashed([TrashedStatus], more: Int? = nil)
    case restored(RestoredStatus)
}

/// The outcome for one path of a request.
public struct PathOutcome: Codable, Sendable, Equatable {
    /// The path in the request.
    public var path: PathBytes
    /// The error, for people; nil: none.
    public var error: String?
    /// The bytes that were evicted or downloaded, or are still to come.
    public var bytes: Int64
    /// A remark for people; nil: none.
    public var note: String?

    public init(path: PathBytes, error: String? = nil, bytes: Int64 = 0, note: String? = nil) {
        self.path = path
        self.error = error
        self.bytes = bytes
        self.note = note
    }
}

/// The reason why a request was not carried out.
public struct ControlFailure: Codable, Sendable, Equatable, Error {
    /// For programs: one of the constants below, or one of the service's own.
    public var code: String
    /// For people: what happened, and what to do.
    public var message: String

    public init(code: String, message: String) {
        self.code = code
        self.message = message
    }

    /// The request is not JSON, or this daemon does not know it; the connection is closed.
    public static let badRequest = "badRequest"
    /// The request was larger than ``ControlLimits/requestBytes``; the connection is closed.
    public static let requestTooLarge = "requestTooLarge"
    /// The request broke off; the connection is closed.
    public static let truncatedRequest = "truncatedRequest"
    /// Too many requests were sent without waiting for the answers; the connection is closed.
    public static let tooManyRequests = "tooManyRequests"
    /// The answer would be larger than ``ControlLimits/responseBytes``: ask for fewer paths.
    public static let responseTooLarge = "responseTooLarge"
    /// The request has no progress to report.
    public static let notReported = "notReported"
    /// Another domain made the bookmark.
    public static let notMine = "notMine"
    /// Changes are not in the store yet.
    public static let pending = "pending"
    /// The bookmark names this domain, but is signed with another key.
    public static let otherKey = "otherKey"
    /// The document no longer has the contents that the thumbnail shows.
    public static let otherContents = "otherContents"
    /// The daemon could not encode its answer: a bug.
    public static let internalError = "internalError"
}

/// The sizes that messages may have; a larger message ends the connection.
public enum ControlLimits {
    /// 6 MiB of JSON: a thumbnail of ``GivenThumbnail/bytes`` fits into it.
    public static let requestBytes = 6 << 20
    /// 16 MiB of JSON.
    public static let responseBytes = 16 << 20
    /// Requests that one connection may send before the first of them is answered.
    static let requestsAhead = 16
}

public import Foundation

/// What the daemon answers.
public enum ControlResponse: Codable, Sendable, Equatable {
    case items([ItemStatus])
    case domain(DomainStatus, items: [ItemStatus])
    /// One for each path that was asked for, in that order.
    case outcomes([PathOutcome])
    /// What is still pending; empty when all is done.
    case synced(pending: [PendingChange])
    case pong(pid: Int32)
    case thumbnail(DocumentThumbnail)
    case thumbnailGiven(GivenThumbnail)
    case settings(DomainSettings)
    /// Everything that there was to say has been said.
    case done
    /// Not the answer yet: it follows. Only comes in reply to ``ControlRequest/events(last:follows:)`` and
    /// ``ControlRequest/reporting(_:)``.
    case news(ControlNews)
    /// The request as a whole was not carried out.
    case failure(ControlFailure)

    case discards([DiscardedChange])
    case conflicts([ConflictStatus])
    case deletions(ResolvedDeletions)
    /// The oldest first.
    case claims([ClaimStatus])

    case bookmark(Data)
    /// So many changes are where the request said.
    case signedOut(putAside: Int)
    case resolved(ResolvedBookmark)
    case grants([GrantStatus])
    /// Relative to the mount point.
    case place(PathBytes)
    case promised([PromisedItem])
    case textIndex(TextIndexStatus)
    case thumbnails(ThumbnailStatus)
    case policy([DownloadRule])
}

/// What became of one path of a request that names paths.
public struct PathOutcome: Codable, Sendable, Equatable {
    /// As it was asked for.
    public var path: PathBytes
    /// Why it was not done, for people; nil when it was.
    public var error: String?
    /// The bytes that were dropped or fetched, or are still to come.
    public var bytes: Int64
    /// What else there is to say, for people; nil when nothing.
    public var note: String?

    public init(path: PathBytes, error: String? = nil, bytes: Int64 = 0, note: String? = nil) {
        self.path = path
        self.error = error
        self.bytes = bytes
        self.note = note
    }
}

/// Why a request was not carried out.
public struct ControlFailure: Codable, Sendable, Equatable, Error {
    /// For programs: one of the constants below, or one of the service's own.
    public var code: String
    /// For people: what happened and what to do.
    public var message: String

    public init(code: String, message: String) {
        self.code = code
        self.message = message
    }

    /// The request was not JSON, or is none that this daemon knows; the connection is closed.
    public static let badRequest = "badRequest"
    /// The request was larger than ``ControlLimits/requestBytes``; the connection is closed.
    public static let requestTooLarge = "requestTooLarge"
    /// The request ended before its end; the connection is closed.
    public static let truncatedRequest = "truncatedRequest"
    /// Too many requests were sent without waiting for the answers; the connection is closed.
    public static let tooManyRequests = "tooManyRequests"
    /// The answer would be larger than ``ControlLimits/responseBytes``: ask for fewer paths.
    public static let responseTooLarge = "responseTooLarge"
    /// The request is none that can be reported on.
    public static let notReported = "notReported"
    /// The bookmark is another domain's.
    public static let notMine = "notMine"
    /// Changes are not in the store yet.
    public static let pending = "pending"
    /// The bookmark is of a domain of this name, but made with another key.
    public static let otherKey = "otherKey"
    /// The document has other contents by now than the thumbnail is of.
    public static let otherContents = "otherContents"
    /// The daemon could not make its answer: a bug.
    public static let internalError = "internalError"
}

/// How large messages may be; whoever sends a larger one is cut off.
public enum ControlLimits {
    /// 6 MiB of JSON: a thumbnail of ``GivenThumbnail/bytes`` fits into it.
    public static let requestBytes = 6 << 20
    /// 16 MiB of JSON.
    public static let responseBytes = 16 << 20
    /// Requests that one connection may send before the first of them is answered.
    static let requestsAhead = 16
}

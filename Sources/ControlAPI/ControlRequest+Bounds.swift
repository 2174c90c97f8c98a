import QueryLanguage
import Surroundings

/// Bounds of the numbers in requests: no program's request may end the daemon, which serves all programs of its user.
extension ControlRequest {
    /// In bytes a second: below the least all transfers would stall, above the largest no limit is needed.
    public static let rates: ClosedRange<Int64> = 1_024...1 << 50
    /// In pixels.
    public static let thumbnailSizes = 16...1_024
    /// Seconds since 1970: to the end of the year 9999.
    public static let moments = 0...253_402_300_799.0

    /// The most versions to list.
    public static let versionCounts = 1...1_000

    /// The number in the request that is out of bounds; nil: none.
    var problem: String? {
        switch self {
        case .sync(let timeout?), .retry(_, let timeout):
            WaitingTime.isPossible(timeout) ? nil : "a time of \(timeout) s"
        case .limit(let download, let upload): download.problem ?? upload.problem
        case .events(let last, _): last < 0 ? "the last \(last) events" : nil
        case .reporting(let request): request.problem
        case .thumbnail(_, let size): Self.thumbnailSizes.contains(size) ? nil : "a thumbnail of \(size) pixels"
        case .giveThumbnail(_, let picture, _):
            picture.count <= GivenThumbnail.bytes ? nil : "a thumbnail of \(picture.count) bytes"
        case .noteThumbnail(_, let note): note.bytes >= 0 ? nil : "a thumbnail of \(note.bytes) bytes"
        case .makeBookmark(let request):
            request.grant?.until.flatMap { Self.moments.contains($0) ? nil : "a right until \($0)" }
        case .query(let request): request.problem
        case .promised(_, _, let size?):
            Self.thumbnailSizes.contains(size) ? nil : "a thumbnail of \(size) pixels"
        case .versions(_, let limit): Self.versionCounts.contains(limit) ? nil : "\(limit) versions"
        case .copyVersion(_, let version, let descriptor):
            version.size < 0 || descriptor < 0 ? "a version of \(version.size) bytes into \(descriptor)" : nil
        case .links(_, .make(let password, let until, _)):
            if let count = password?.utf8.count, !(1...LinkRequest.longestPassword).contains(count) {
                "a password of \(count) bytes"
            } else {
                until.flatMap { Self.moments.contains($0) ? nil : "a link until \($0)" }
            }
        case .bindClaim(_, let pid): pid > 0 ? nil : "process \(pid)"
        default: nil
        }
    }
}

extension QueryRequest {
    fileprivate var problem: String? {
        if !Self.intervals.contains(interval) { return "an interval of \(interval) s" }
        if scopes.count > Self.mostScopes { return "\(scopes.count) folders to look in" }
        return predicate.isBounded ? nil : "a query of so many conditions"
    }
}

extension LimitChange {
    fileprivate var problem: String? {
        guard case .bytesPerSecond(let rate) = self, !ControlRequest.rates.contains(rate) else { return nil }
        return "\(rate) bytes a second"
    }
}

import ControlAPI

/// What of a domain's state needs a person. (Not what mends itself: a store that does not answer, a try that failed
/// and comes again.)
package struct Causes: Sendable, Equatable {
    package private(set) var byKind: [NoticeKind: [Cause]] = [:]

    /// - Parameters:
    ///   - large: in bytes; downloads of less need no notice.
    ///   - wasFull: the disk was full before; it counts as full until there is twice the room.
    package init(_ snapshot: DomainSnapshot, large: Int64, wasFull: Bool = false) {
        let status = snapshot.status
        byKind[.conflict] = snapshot.conflicts.map { conflict in
            var cause = Cause(conflict.original)
            cause.detail = conflict.explanation
            cause.reason = conflict.reason
            cause.place = conflict.originalPlace ?? status.place(of: conflict.original)
            cause.copy = conflict.copyPlace ?? status.place(of: conflict.copy)
            return cause
        }
        byKind[.refused] = status.pending.filter { $0.remedy != nil }.map { change in
            var cause = Cause(change.path)
            cause.detail = [change.error, change.remedy].compactMap(\.self).joined(separator: "; ")
            cause.place = status.place(of: change.path)
            return cause
        }
        byKind[.signIn] = status.connection?.needsSignIn == true ? [Cause("")] : []
        byKind[.heldDeletions] = status.heldDeletions.map { held in
            var cause = Cause("")
            (cause.total, cause.done) = (Int64(held.items), Int64(held.incomplete))
            return [cause]
        }
        // (As the daemon decides whether it can still download: DiskRoom.)
        let least = min(16 << 20, status.disk.minimumFree / 2)
        if status.disk.minimumFree > 0, status.disk.free < (wasFull ? least * 2 : least) {
            var cause = Cause("")
            cause.done = status.disk.free
            byKind[.diskFull] = [cause]
        }
        byKind[.download] = (status.transfers ?? []).filter { $0.direction == .download && $0.total >= large }.map {
            var cause = Cause($0.path)
            (cause.done, cause.total) = ($0.bytes, $0.total)
            cause.place = status.place(of: $0.path)
            return cause
        }
    }

    /// A domain that is not mounted any more.
    package init() {}

    package subscript(kind: NoticeKind) -> [Cause] { byKind[kind] ?? [] }
}

extension DomainStatus {
    /// The place of an absolute path for people, in which bytes that are not UTF-8 are lost.
    func place(of path: String) -> PathBytes {
        PathBytes(path.hasPrefix(mountPoint) ? String(path.dropFirst(mountPoint.count).drop { $0 == "/" }) : path)
    }
}

package import ControlAPI

/// What a notice is about.
package enum NoticeKind: String, Codable, Sendable, CaseIterable {
    case conflict, refused, signIn, heldDeletions, diskFull, download

    /// How long a cause must last before people see it: others of its kind are gathered meanwhile, and some mend
    /// themselves.
    var patience: Duration {
        switch self {
        case .conflict, .refused, .signIn, .heldDeletions: .seconds(2)
        // (Documents are evicted first.)
        case .diskFull: .seconds(15)
        case .download: .seconds(3)
        }
    }
}

/// A notice's place: at most one of a kind for each mount.
package struct NoticeKey: Hashable, Sendable {
    package var kind: NoticeKind
    package var mountPoint: String

    package init(_ kind: NoticeKind, _ mountPoint: String) {
        self.kind = kind
        self.mountPoint = mountPoint
    }
}

/// One reason for a notice.
package struct Cause: Sendable, Equatable {
    /// What it is about, the same for as long as it lasts: an absolute path for people; empty: the domain.
    package var subject: String
    /// For people; may be any text of a store.
    package var detail = ""
    /// For system calls and requests, relative to the mount point.
    package var place: PathBytes?
    /// Of a conflict: the copy.
    package var copy: PathBytes?
    /// Of a conflict (``ConflictStatus/reason``).
    package var reason = ""
    /// Of a download, transferred and in all; of a full disk, free; of held deletions, items in all and those that
    /// are not here.
    package var done: Int64 = 0
    package var total: Int64 = 0

    package init(_ subject: String) { self.subject = subject }
}

/// What a button does.
package enum NoticeAction: String, Codable, Sendable, CaseIterable {
    case show, compare, keepMine, keepTheirs, keepBoth, retry, discard, signIn, deleteHere, putBack, cancelDownload
    /// Answers to a question.
    case yes, no

    /// Something is lost that nobody can bring back: it is asked again.
    var isAskedAgain: Bool {
        switch self {
        case .keepMine, .keepTheirs, .discard, .deleteHere: true
        default: false
        }
    }
}

package struct NoticeButton: Sendable, Equatable, Codable {
    package var action: NoticeAction
    package var label: String
}

/// What people see. All texts are safe for a line; a server that reads markup needs them escaped.
package struct Notice: Sendable, Equatable {
    package var key: NoticeKey
    package var title: String
    package var body: String
    package var buttons: [NoticeButton]
    /// What to run in a terminal where there are no buttons.
    package var commands: [String]
    /// In percent.
    package var progress: Int?
    /// It stays until it is answered or its cause is gone.
    package var stays = true
}

/// A mounted domain at one moment.
package struct DomainSnapshot: Sendable {
    package var status: DomainStatus
    package var conflicts: [ConflictStatus]

    package init(_ status: DomainStatus, conflicts: [ConflictStatus] = []) {
        self.status = status
        self.conflicts = conflicts
    }

    package var title: String { status.title ?? status.domain }
}

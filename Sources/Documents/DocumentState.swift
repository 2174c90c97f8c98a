public import Foundation

/// How a document is. Without any of these it is open, and all is well.
///
/// Source: Apple, `UIDocument.State`.
public struct DocumentState: OptionSet, Sendable, Hashable, CustomStringConvertible {
    /// A bit a condition.
    public let rawValue: Int
    /// See ``rawValue``.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Open, and nothing is the matter.
    public static let normal: DocumentState = []
    /// Not opened yet, or closed again: nothing here follows the file.
    public static let closed = DocumentState(rawValue: 1 << 0)
    /// There is another version, which is kept beside it until somebody chooses: ``Document/unresolvedConflictVersions``.
    public static let inConflict = DocumentState(rawValue: 1 << 1)
    /// It could not be saved when that was tried last. What is not saved is in memory only; it is tried again.
    public static let savingError = DocumentState(rawValue: 1 << 2)
    /// The user should not be let change anything now: it is being opened, or somebody else writes it.
    public static let editingDisabled = DocumentState(rawValue: 1 << 3)
    /// It is being downloaded: ``Document/progress``.
    public static let progressAvailable = DocumentState(rawValue: 1 << 4)

    /// Its names, for people.
    public var description: String {
        let names = [
            (Self.closed, "closed"), (.inConflict, "in conflict"), (.savingError, "saving error"),
            (.editingDisabled, "editing disabled"), (.progressAvailable, "progress available"),
        ].filter { contains($0.0) }.map(\.1)
        return names.isEmpty ? "normal" : names.joined(separator: ", ")
    }
}

/// How far the download is that a document waits for.
public struct DownloadProgress: Sendable, Hashable {
    /// How many have come of those that were missing.
    public let bytes: Int64
    /// How many were missing when it began; 0: that is not known yet.
    public let totalBytes: Int64
    /// From 0 to 1.
    public var fractionCompleted: Double {
        totalBytes > 0 ? min(1, max(0, Double(bytes) / Double(totalBytes))) : 0
    }
}

/// What happens to a document, for whoever shows it.
public enum DocumentNotification: Sendable {
    /// ``Document/documentState`` is another one.
    case stateChanged(DocumentState)
    /// Another version was loaded: somebody else's, or the one that was chosen.
    case contentsLoaded
    /// The file is elsewhere, or is called otherwise.
    case moved(URL)
    /// The file is gone; the document is closed. What was not saved is in it still, and may be saved elsewhere.
    case deleted
    /// More of it has come.
    case progress(DownloadProgress)
    /// It was saved: to its file, or in a conflict as its own version beside that.
    case saved
    /// Something failed that nobody waited for: an autosave, or loading what another has written.
    case failed(any Error)
}

extension Document {
    /// What a save does to the place.
    public enum SaveOperation: Sendable, Hashable {
        /// Makes the file; fails when something is there.
        case forCreating
        /// Puts new contents in the place of those that are there.
        case forOverwriting
    }

    /// A step of the user's, for ``Document/updateChangeCount(_:)``.
    public enum Change: Sendable, Hashable {
        /// Something was changed.
        case done
        /// A change was taken back.
        case undone
        /// A change that was taken back was made again.
        case redone
        /// All is as in the file.
        case cleared
    }

    /// What stays of two versions, in the words of `hydrant resolve`.
    public enum KeptVersion: Sendable, Hashable, CaseIterable {
        /// The version that was kept beside the file becomes the file's contents, and goes from there.
        case mine
        /// The file stays as it is; the version beside it goes.
        case theirs
        /// Both stay, each under its name.
        case both
    }
}

/// Another version of a document, as a file beside it that everybody can look at.
///
/// Source: Apple, `NSFileVersion.unresolvedConflictVersionsOfItem(at:)`.
public struct ConflictVersion: Sendable, Hashable, Identifiable {
    /// The path.
    public var id: String { url.path(percentEncoded: true) }
    /// Where it is. To look at it: ``Document/revert(toContentsOf:)``, or any program.
    public let url: URL
    /// Since when there are both.
    public let moment: Date
    /// For people: how that came.
    public let explanation: String
    /// Whether it is what this document shows, and saves to: it had changes when somebody else changed the file.
    public let isOwn: Bool
}

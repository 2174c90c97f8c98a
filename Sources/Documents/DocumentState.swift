public import Foundation

/// The state of a document. Without any of these conditions it is open and in order.
///
/// Source: Apple, `UIDocument.State`.
public struct DocumentState: OptionSet, Sendable, Hashable, CustomStringConvertible {
    /// One bit for each condition.
    public let rawValue: Int
    /// See ``rawValue``.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Open and in order.
    public static let normal: DocumentState = []
    /// Not opened yet, or closed again; the document does not follow its file.
    public static let closed = DocumentState(rawValue: 1 << 0)
    /// There is another version, kept beside the file until somebody chooses: ``Document/unresolvedConflictVersions``.
    public static let inConflict = DocumentState(rawValue: 1 << 1)
    /// The last save failed. Unsaved changes are in memory only; the document tries again.
    public static let savingError = DocumentState(rawValue: 1 << 2)
    /// The user should not edit now: the document is being opened, or somebody else writes the file.
    public static let editingDisabled = DocumentState(rawValue: 1 << 3)
    /// A download is running: ``Document/progress``.
    public static let progressAvailable = DocumentState(rawValue: 1 << 4)

    /// The conditions' names, for people.
    public var description: String {
        let names = [
            (Self.closed, "closed"), (.inConflict, "in conflict"), (.savingError, "saving error"),
            (.editingDisabled, "editing disabled"), (.progressAvailable, "progress available"),
        ].filter { contains($0.0) }.map(\.1)
        return names.isEmpty ? "normal" : names.joined(separator: ", ")
    }
}

/// The progress of a download that a document waits for.
public struct DownloadProgress: Sendable, Hashable {
    /// The missing bytes that have arrived.
    public let bytes: Int64
    /// The bytes that were missing at the start; 0: not known yet.
    public let totalBytes: Int64
    /// From 0 to 1.
    public var fractionCompleted: Double {
        totalBytes > 0 ? min(1, max(0, Double(bytes) / Double(totalBytes))) : 0
    }
}

/// A notification of a document, for its views.
public enum DocumentNotification: Sendable {
    /// ``Document/documentState`` has changed.
    case stateChanged(DocumentState)
    /// Another version was loaded: somebody else's, or the chosen one.
    case contentsLoaded
    /// The file was moved or renamed.
    case moved(URL)
    /// The file is gone, and the document is closed. It keeps unsaved changes, which can be saved elsewhere.
    case deleted
    /// The download has progressed.
    case progress(DownloadProgress)
    /// The document was saved: to its file, or in a conflict to its own version.
    case saved
    /// Work failed that no call waits for: an autosave, or loading somebody else's version.
    case failed(any Error)
}

extension Document {
    /// The kinds of saves.
    public enum SaveOperation: Sendable, Hashable {
        /// Make the file; fail if the name is taken.
        case forCreating
        /// Replace the file's contents.
        case forOverwriting
    }

    /// A change of the model, for ``Document/updateChangeCount(_:)``.
    public enum Change: Sendable, Hashable {
        /// A change was made.
        case done
        /// A change was undone.
        case undone
        /// A change was redone.
        case redone
        /// The model equals the file.
        case cleared
    }

    /// The version to keep, in the words of `hydrant resolve`.
    public enum KeptVersion: Sendable, Hashable, CaseIterable {
        /// The version beside the file becomes the file's contents, and its copy is removed.
        case mine
        /// The file stays as it is; the version beside it is removed.
        case theirs
        /// Both stay, each under its name.
        case both
    }
}

/// Another version of a document, in a file beside it that everybody can read.
///
/// Source: Apple, `NSFileVersion.unresolvedConflictVersionsOfItem(at:)`.
public struct ConflictVersion: Sendable, Hashable, Identifiable {
    /// The path.
    public var id: String { url.path(percentEncoded: true) }
    /// The version's file. ``Document/revert(toContentsOf:)`` loads it, or any program.
    public let url: URL
    /// When the conflict began.
    public let moment: Date
    /// The reason for the conflict, for people.
    public let explanation: String
    /// Whether this document shows the version, and saves to it: it had changes when somebody else changed the file.
    public let isOwn: Bool
}

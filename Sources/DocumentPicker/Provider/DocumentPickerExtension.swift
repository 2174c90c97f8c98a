public import Foundation
public import UniformTypes

/// A provider's own part of the document picker: how its documents are found, or where a document goes. One instance a
/// presentation.
///
/// It shows pages (``DocumentPickerContext/show(_:)``) and is told what the user does with them; how they look is not its
/// business. A domain without one gets the standard browser.
///
/// Source: Apple, `UIDocumentPickerExtensionViewController`.
public protocol DocumentPickerExtension: Sendable {
    /// The instance keeps its context.
    init(context: DocumentPickerContext)

    /// Called once, before anything is shown; from now on the context's ``DocumentPickerContext/documentPickerMode`` and what
    /// goes with it are valid.
    ///
    /// - Throws: why it cannot be shown; the user is told.
    func prepareForPresentation(in mode: DocumentPickerMode) async throws

    /// The user did something on the page that was shown last. Actions come one after another.
    ///
    /// - Throws: what went wrong; the user is told, and the page stays.
    func handle(_ action: PickerAction) async throws
}

/// What an extension gets from the picker, and what it gives back.
public final class DocumentPickerContext: Sendable {
    struct Presentation: Sendable {
        var mode: DocumentPickerMode
        var originalURL: URL?
        var validTypes: [UniformType]?
    }

    /// The file provider's; nil without one.
    public let providerIdentifier: String?
    /// Where the file provider's documents are: the mount point of its domain. Nil without a file provider.
    public let documentStorageURL: URL?
    /// The folder that is shared by the programs of the provider's document group; nil: its manifest names none.
    public let documentGroupURL: URL?
    private let box: PresentationBox
    private let shows: @Sendable (PickerPage) async -> Void
    private let dismisses: @Sendable (URL) async throws -> Void
    private let fails: @Sendable (any Error) async -> Void

    init(
        providerIdentifier: String?, documentStorageURL: URL?, documentGroupURL: URL?,
        shows: @escaping @Sendable (PickerPage) async -> Void,
        dismisses: @escaping @Sendable (URL) async throws -> Void,
        fails: @escaping @Sendable (any Error) async -> Void = { _ in }
    ) {
        self.providerIdentifier = providerIdentifier
        self.documentStorageURL = documentStorageURL
        self.documentGroupURL = documentGroupURL
        self.shows = shows
        self.dismisses = dismisses
        self.fails = fails
        box = PresentationBox()
    }

    /// Nil before ``DocumentPickerExtension/prepareForPresentation(in:)``.
    public var documentPickerMode: DocumentPickerMode? { box.presentation?.mode }
    /// The document to export or to move; nil in the other modes.
    public var originalURL: URL? { box.presentation?.originalURL }
    /// What may be imported or opened; nil in the other modes.
    public var validTypes: [UniformType]? { box.presentation?.validTypes }

    /// Shows a page in place of the one before.
    public func show(_ page: PickerPage) async { await shows(page) }

    /// The user has chosen: the picker goes, and the program that asked gets the document.
    ///
    /// - Parameter url: *Import*: a local file that this process can read, or a document of the file provider's, which is
    ///   downloaded. *Open*: within ``documentStorageURL``; it need not have been looked at yet. *Export*: the copy that was
    ///   made of ``originalURL``; the program does not get access to it. *Move*: as export, within ``documentStorageURL``.
    /// - Throws: ``DocumentPickerError``, when nothing was taken: the mode does not allow it, and the picker stays, or the user
    ///   closed the picker. A copy that was made for this can be removed. `CancellationError` when this process is a program
    ///   of its own and the picker's was killed: it may have been taken, so a copy has to stay.
    public func dismissGrantingAccess(to url: URL) async throws { try await dismisses(url) }

    /// Something went wrong that nobody waits for.
    func fail(_ error: any Error) async { await fails(error) }

    func prepare(_ presentation: Presentation) { box.presentation = presentation }
}

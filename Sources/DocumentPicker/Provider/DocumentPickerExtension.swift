public import Foundation
public import UniformTypes

/// A provider's own part of the document picker, which finds its documents or a place for one. Each presentation has an
/// instance of its own.
///
/// It shows pages (``DocumentPickerContext/show(_:)``) and handles the user's actions on them; the front decides how
/// pages look. A domain without an extension gets the standard browser.
///
/// Source: Apple, `UIDocumentPickerExtensionViewController`.
public protocol DocumentPickerExtension: Sendable {
    /// Makes an instance, which keeps the context.
    init(context: DocumentPickerContext)

    /// Called once, before anything is shown; from now on the context's ``DocumentPickerContext/documentPickerMode``
    /// and the properties of that mode are valid.
    ///
    /// - Throws: why the provider cannot be shown; the picker shows the error.
    func prepareForPresentation(in mode: DocumentPickerMode) async throws

    /// Handles an action of the user on the page shown last. Actions come one after another.
    ///
    /// - Throws: an error that the picker shows; the page stays.
    func handle(_ action: PickerAction) async throws
}

/// The connection of an extension to the picker.
public final class DocumentPickerContext: Sendable {
    struct Presentation: Sendable {
        var mode: DocumentPickerMode
        var originalURL: URL?
        var validTypes: [UniformType]?
    }

    /// The file provider's identifier; nil without a file provider.
    public let providerIdentifier: String?
    /// The mount point of the file provider's domain, with its documents. Nil without a file provider.
    public let documentStorageURL: URL?
    /// The folder that the programs of the provider's document group share; nil: the manifest names no group.
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
    /// The types that may be imported or opened; nil in the other modes.
    public var validTypes: [UniformType]? { box.presentation?.validTypes }

    /// Shows a page in place of the one before.
    public func show(_ page: PickerPage) async { await shows(page) }

    /// Ends the presentation with the user's choice: the picker closes, and the program gets the document.
    ///
    /// - Parameter url: *Import*: a local file that this process can read, or a document of the file provider, which is
    ///   downloaded. *Open*: a document within ``documentStorageURL``, which need not be listed yet. *Export*: the copy
    ///   made of ``originalURL``; the program does not get access to it. *Move*: as export, within
    ///   ``documentStorageURL``.
    /// - Throws: ``DocumentPickerError`` when nothing was taken: the mode does not allow the URL, and the picker stays,
    ///   or the user closed the picker; then remove a copy that was made for this. `CancellationError` when this
    ///   process is a program of its own and the picker was killed: the copy may have been taken, so it must stay.
    public func dismissGrantingAccess(to url: URL) async throws { try await dismisses(url) }

    /// Reports an error of work that no call waits for.
    func fail(_ error: any Error) async { await fails(error) }

    func prepare(_ presentation: Presentation) { box.presentation = presentation }
}

import ControlAPI
import FileCoordination
import Foundation
import UniformTypes

extension DocumentInteractionController {
    /// Which kind of preview there is of such a document; nil: nothing can be shown. The document need not be here.
    public var previewKind: PreviewKind? { isFolder ? nil : PreviewKind(type, mimeType: mimeType) }

    /// Downloads the document and makes a preview of it. It is read when nobody writes it (`FileCoordination`).
    ///
    /// - Parameters:
    ///   - title: nil: the document's name.
    ///   - progress: of the download.
    /// - Throws: ``DocumentInteractionError``: ``DocumentInteractionError/Code/nothingToShow`` when there is no preview of
    ///   such documents, or of this one; ``DocumentInteractionError/Code/missingProgram`` when what makes it is not installed;
    ///   ``DocumentInteractionError/Code/tooMuch``, ``DocumentInteractionError/Code/download``.
    public func preview(
        title: String? = nil, progress: (@Sendable (DownloadProgress) -> Void)? = nil
    ) async throws -> Preview {
        guard let kind = previewKind else {
            throw DocumentInteractionError(
                .nothingToShow,
                "\(place.shown): there is no preview of \(isFolder ? "folders" : mimeType ?? type.identifier)")
        }
        try await download(progress: progress)
        let maker = PreviewMaker(
            title: title ?? name, shown: place.shown, mimeType: mimeType ?? "application/octet-stream",
            isTabbed: mimeType == "text/tab-separated-values")
        guard kind == .office else {
            return try await reading { path in try await onThread { try maker.make(kind, path) } }
        }
        // Only for as long as it is copied: LibreOffice takes its time.
        let converter = try OfficeConverter(shown: place.shown)
        try await reading { path in try await onThread { try converter.take(path) } }
        return try await onThread { try maker.office(converter) }
    }

    /// While nobody writes it. A program that does not let go is not waited for for ever.
    func reading<T: Sendable>(_ body: (String) async throws -> T) async throws -> T {
        guard place.mountPoint != nil else { return try await body(place.path) }
        do {
            return try await FileCoordinator().coordinate(
                readingItemAt: ByteText.url(place.path), timeout: .seconds(60)
            ) { try await body(ByteText.text(of: $0)) }
        } catch let error as CoordinationError {
            throw DocumentInteractionError(error.code == .download ? .download : .failed, error.message)
        }
    }
}

import ChildProcess
import ControlAPI
import FileCoordination
import Foundation
import UniformTypes

extension DocumentInteractionController {
    /// The kind of preview for the document's type; nil: none. The document need not be here.
    public var previewKind: PreviewKind? { isFolder ? nil : PreviewKind(type, mimeType: mimeType) }

    /// Downloads the document and makes a preview of it. Reads the document while nobody writes it
    /// (`FileCoordination`).
    ///
    /// - Parameters:
    ///   - title: nil: the document's name.
    ///   - progress: of the download.
    /// - Throws: ``DocumentInteractionError``: ``DocumentInteractionError/Code/nothingToShow`` when the type, or this
    ///   document,
    ///   has no preview; ``DocumentInteractionError/Code/missingProgram`` when the program that makes it is not
    ///   installed; ``DocumentInteractionError/Code/tooMuch``, ``DocumentInteractionError/Code/download``.
    ///   `CancellationError`, when the programs that ran for it have ended and their files are removed.
    public func preview(
        title: String? = nil, progress: (@Sendable (DownloadProgress) -> Void)? = nil
    ) async throws -> Preview {
        guard let kind = previewKind else {
            throw DocumentInteractionError(
                .nothingToShow,
                "\(place.shown): there is no preview of \(isFolder ? "folders" : mimeType ?? type.identifier)")
        }
        try await download(progress: progress)
        let (title, shown, mode) = (title ?? name, place.shown, place.mode)
        let mimeType = mimeType ?? "application/octet-stream"
        @Sendable func maker(_ stop: ChildProcess.Stop) -> PreviewMaker {
            PreviewMaker(title: title, shown: shown, mimeType: mimeType, mode: mode, stop: stop)
        }
        guard kind == .office else {
            return try await reading { path in try await onThread { stop in try maker(stop).make(kind, path) } }
        }
        // Hold the document only while it is copied, because LibreOffice is slow.
        let converter = try OfficeConverter(shown: shown)
        do {
            try await reading { path in try await onThread { try converter.take(path) } }
            return try await onThread { stop in try maker(stop).office(converter) }
        } catch {
            converter.folder.remove()
            throw error
        }
    }

    /// Reads the document while nobody writes it; waits a limited time for other programs.
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

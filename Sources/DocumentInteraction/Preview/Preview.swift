public import Foundation

/// A page of a preview, as text.
public struct PreviewPage: Sendable, Hashable, Codable {
    /// From 1.
    public let number: Int
    /// Lines for a terminal, with text only, whatever the document holds. They may be wider than the terminal.
    public let lines: [String]
    /// The lines with colours (SGR sequences of ECMA-48 only), for pictures.
    public let coloredLines: [String]?

    init(number: Int, lines: [String], coloredLines: [String]? = nil) {
        self.number = number
        self.lines = lines
        self.coloredLines = coloredLines
    }
}

/// A file of a preview, for a front end that shows HTML, pictures or PDF.
public struct PreviewFile: Sendable, Hashable, Codable {
    /// The file's URL.
    public let url: URL
    /// `text/html`, `image/png`, `application/pdf`, or the document's type.
    public let mimeType: String
    /// The page that it shows; nil: all pages.
    public let page: Int?
}

/// A preview of a document.
///
/// Source: Apple, `QLPreviewItem` and *Quick Look Programming Guide*.
public final class Preview: Sendable {
    /// The document's name, or the title that the program gave.
    public let title: String
    /// See ``PreviewKind``.
    public let kind: PreviewKind
    /// At least one.
    public let pages: [PreviewPage]
    /// Remarks on what is not shown, for people: for example, that the document goes on.
    public let notes: [String]
    let source: Source
    /// The document's permission bits, which the preview's files get.
    let mode: UInt32
    /// Temporary files, removed with this object.
    private let folder: TemporaryFolder?

    /// The source of the preview's files.
    enum Source: Sendable {
        case text([String])
        case table([[String]])
        /// The PDF's path.
        case pdf(String)
        case picture(String, mimeType: String)
    }

    init(
        title: String, kind: PreviewKind, pages: [PreviewPage], notes: [String] = [], source: Source, mode: UInt32,
        folder: TemporaryFolder? = nil
    ) {
        self.title = title
        self.kind = kind
        self.pages = pages
        self.notes = notes
        self.source = source
        self.mode = mode
        self.folder = folder
    }

    /// Writes the preview as files into a folder, which is made (mode 0700) if it does not exist: `index.html`, which
    /// shows the whole preview, and the files that it refers to. They run nothing, refer to nothing outside of the
    /// folder, and have the document's permissions. They replace files of an earlier preview; other files in the folder
    /// stay.
    ///
    /// - Returns: all files, `index.html` first.
    /// - Throws: ``DocumentInteractionError``, also when a file is in the way that is not of an earlier preview, or is
    ///   the document
    ///   itself; `CancellationError`.
    public func write(to folder: URL) async throws -> [PreviewFile] {
        try await onThread { stop in try PreviewFiles(self, folder.path(percentEncoded: false), stop).write() }
    }

    /// Removes the preview's files in `$TMPDIR` (LibreOffice's PDF), as happens when this object is deallocated; for a
    /// program that may end before. Do not call ``write(to:)`` afterwards.
    public func close() { folder?.remove() }
}

/// A folder that is removed with this object.
final class TemporaryFolder: Sendable {
    let path: String

    /// - Parameter parent: nil: `$TMPDIR`.
    init(in parent: String? = nil) throws {
        // A leading dot hides the folder beside documents. NSTemporaryDirectory() ends with a slash.
        let folder = (parent.map { $0 + "/." } ?? NSTemporaryDirectory()) + "hydrant-preview-XXXXXX"
        var template = Array(folder.utf8CString)
        guard let made = mkdtemp(&template) else { throw FileBytes.failure(parent ?? NSTemporaryDirectory()) }
        path = String(cString: made)
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }

    deinit { remove() }
}

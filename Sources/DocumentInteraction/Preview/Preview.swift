public import Foundation

/// A page of a preview, as text.
public struct PreviewPage: Sendable, Hashable, Codable {
    /// From 1.
    public let number: Int
    /// For a terminal: whatever the document holds, nothing in them but text. They may be wider than it.
    public let lines: [String]
    /// The same with colours (SGR sequences of ECMA-48, and nothing else), where that shows more: pictures.
    public let coloredLines: [String]?

    init(number: Int, lines: [String], coloredLines: [String]? = nil) {
        self.number = number
        self.lines = lines
        self.coloredLines = coloredLines
    }
}

/// A file of a preview, for a front end that shows HTML, pictures or PDF.
public struct PreviewFile: Sendable, Hashable, Codable {
    /// Where it is.
    public let url: URL
    /// `text/html`, `image/png`, `application/pdf`, or what the document is.
    public let mimeType: String
    /// Which page it shows; nil: all of them.
    public let page: Int?
}

/// What is to be seen of a document.
///
/// Source: Apple, `QLPreviewItem` and *Quick Look Programming Guide*.
public final class Preview: Sendable {
    /// The document's name, or what the program says.
    public let title: String
    /// See ``PreviewKind``.
    public let kind: PreviewKind
    /// At least one.
    public let pages: [PreviewPage]
    /// What is not shown, for people: that a document goes on, for example.
    public let notes: [String]
    let source: Source
    /// Permission bits of the document: nobody else is to read its preview.
    let mode: UInt32
    /// What goes with this.
    private let folder: TemporaryFolder?

    /// What files are made of.
    enum Source: Sendable {
        case text([String])
        case table([[String]])
        /// At these paths.
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

    /// Writes it as files into a folder, which is made if it is not there (mode 0700): `index.html`, which shows all of it, and what
    /// that refers to. Nothing in them runs, and they refer to nothing outside of the folder. They have the permissions of the
    /// document. Those of an earlier preview are replaced; anything else in the folder stays as it is.
    ///
    /// - Returns: the files, `index.html` first. They are complete.
    /// - Throws: ``DocumentInteractionError``, also when a file is in the way that is none of an earlier preview, or is the document
    ///   itself; `CancellationError`.
    public func write(to folder: URL) async throws -> [PreviewFile] {
        try await onThread { stop in try PreviewFiles(self, folder.path(percentEncoded: false), stop).write() }
    }

    /// Removes the files that were made for the preview in `$TMPDIR` (the PDF of LibreOffice's). It happens by itself when this goes;
    /// a program that may end before says so. ``write(to:)`` cannot be called any more.
    public func close() { folder?.remove() }
}

/// A folder that goes with this.
final class TemporaryFolder: Sendable {
    let path: String

    /// - Parameter parent: nil: `$TMPDIR`.
    init(in parent: String? = nil) throws {
        // (Beside documents it is not shown. What Foundation says ends with a slash.)
        let folder = (parent.map { $0 + "/." } ?? NSTemporaryDirectory()) + "hydrant-preview-XXXXXX"
        var template = Array(folder.utf8CString)
        guard let made = mkdtemp(&template) else { throw FileBytes.failure(parent ?? NSTemporaryDirectory()) }
        path = String(cString: made)
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }

    deinit { remove() }
}

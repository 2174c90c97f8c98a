import ChildProcess
import ControlAPI
import Foundation

/// Makes previews. Everything here blocks, for a bounded time.
struct PreviewMaker: Sendable {
    let title: String
    /// The document's path, for people.
    let shown: String
    let mimeType: String
    /// The document's permission bits.
    let mode: UInt32
    let stop: ChildProcess.Stop

    /// Bytes of a text to read, and the largest sizes of other documents.
    private static let (mostText, mostPicture, mostPDF) = (1 << 20, 256 << 20, 1 << 30)
    private static let (mostLines, mostPages) = (20_000, 500)

    func make(_ kind: PreviewKind, _ path: String) throws -> Preview {
        switch kind {
        case .text: try text(path)
        case .table: try table(path)
        case .picture: try picture(path)
        case .pdf, .office: try pdf(path, kind, nil)
        }
    }

    func failure(_ code: DocumentInteractionError.Code, _ why: String) -> DocumentInteractionError {
        DocumentInteractionError(code, "\(shown): \(why)")
    }

    private func check(_ path: String, _ most: Int) throws {
        var status = stat()
        guard ByteText.withPath(path, { stat($0, &status) }) == 0 else { throw FileBytes.failure(path) }
        guard status.st_size <= most else {
            throw failure(.tooMuch, "is larger than the \(most >> 20) MiB that a preview is made of")
        }
        guard status.st_size > 0 else { throw failure(.nothingToShow, "is empty") }
    }

    // MARK: Text

    private func text(_ path: String) throws -> Preview {
        let (text, isWhole) = try read(path)
        let all = PlainText.lines(text, most: Self.mostLines)
        let goesOn = !isWhole || all.count > Self.mostLines
        let lines = Array(all.prefix(Self.mostLines))
        return Preview(
            title: title, kind: .text, pages: [PreviewPage(number: 1, lines: lines)],
            notes: goesOn ? ["the document goes on after these \(lines.count) lines"] : [], source: .text(lines),
            mode: mode)
    }

    private func read(_ path: String) throws -> (String, isWhole: Bool) {
        let read = try FileBytes.read(path, most: Self.mostText)
        guard let text = PlainText.decoded(read.bytes, isWhole: read.isWhole) else {
            throw failure(.nothingToShow, "is not text, although its name says so")
        }
        return (text, read.isWhole)
    }

    private func table(_ path: String) throws -> Preview {
        let (text, isWhole) = try read(path)
        let table = DelimitedText(
            text, separator: mimeType == "text/tab-separated-values" ? "\t" : nil, isWhole: isWhole)
        var notes: [String] = []
        if !isWhole || table.hasMoreRows { notes.append("the table goes on after these \(table.rows.count) rows") }
        if table.hasMoreColumns { notes.append("only the first \(DelimitedText.mostColumns) columns are shown") }
        return Preview(
            title: title, kind: .table, pages: [PreviewPage(number: 1, lines: table.lines)], notes: notes,
            source: .table(table.rows), mode: mode)
    }

    // MARK: Pictures

    private func picture(_ path: String) throws -> Preview {
        try check(path, Self.mostPicture)
        let size = PictureSize(try FileBytes.read(path, most: 1 << 20).bytes)
        var status = stat()
        _ = ByteText.withPath(path) { stat($0, &status) }
        let facts = [
            size.map { "\($0.format), \($0.width) × \($0.height) pixels" } ?? mimeType, "\(status.st_size) bytes",
        ]
        let drawing = try PictureDrawing.draw(path, stop)
        let lines = (drawing?.plain).map { $0 + [""] } ?? []
        return Preview(
            title: title, kind: .picture,
            pages: [
                PreviewPage(
                    number: 1, lines: lines + facts, coloredLines: (drawing?.colored).map { $0 + [""] + facts })
            ], source: .picture(path, mimeType: mimeType), mode: mode)
    }

    // MARK: Pages

    private func pdf(_ path: String, _ kind: PreviewKind, _ folder: TemporaryFolder?) throws -> Preview {
        try check(path, Self.mostPDF)
        let found = try PDFDocument(path, shown: shown, stop: stop)
        let texts = try found.texts(most: Self.mostPages)
        let pages = texts.enumerated().map { number, text in
            let lines = PlainText.lines(text, most: Self.mostLines)
            return PreviewPage(
                number: number + 1, lines: lines.contains { !$0.isEmpty } ? lines : ["(there is no text on this page)"])
        }
        guard !pages.isEmpty else { throw failure(.tooMuch, "has more text on a page than is shown") }
        let left = found.pageCount - pages.count
        return Preview(
            title: title, kind: kind, pages: pages,
            notes: left > 0 ? ["the document has \(left) pages more"] : [], source: .pdf(path), mode: mode,
            folder: folder)
    }

    /// A preview of the document that the converter has copied.
    func office(_ converter: OfficeConverter) throws -> Preview {
        try pdf(try converter.pdf(stop), .office, converter.folder)
    }
}

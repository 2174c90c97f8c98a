import ChildProcess
import ControlAPI
import Foundation

/// Writes a preview as files: makes them in a folder beside their places, then renames them.
struct PreviewFiles {
    private struct Made {
        var name: String
        var mimeType: String
        var page: Int?
    }

    private let preview: Preview
    private let folder: String
    private let stop: ChildProcess.Stop
    private static let mostPictures = 50
    /// The largest document that is copied, in bytes.
    private static let mostCopied = 256 << 20
    /// Marks an index, and the files that it shows, as ours.
    private static let mark = "<meta name=\"generator\" content=\"hydrant preview\">"
    private static let index = "index.html"

    init(_ preview: Preview, _ folder: String, _ stop: ChildProcess.Stop) {
        self.preview = preview
        self.folder = folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
        self.stop = stop
    }

    /// Blocks.
    func write() throws -> [PreviewFile] {
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw DocumentInteractionError(.failed, "\(folder): \(error.localizedDescription)") }
        let earlier = try earlier()
        let draft = try TemporaryFolder(in: folder)
        defer { draft.remove() }
        let made = try make(draft.path)
        try check(made.map(\.name), earlier)
        // The index last: the old one still marks the old files as ours.
        for file in made.reversed() {
            let (from, to) = ("\(draft.path)/\(file.name)", "\(folder)/\(file.name)")
            guard chmod(from, preview.mode & 0o666) == 0, rename(from, to) == 0 else { throw FileBytes.failure(to) }
        }
        for name in earlier.subtracting(made.map(\.name)) { unlink("\(folder)/\(name)") }
        return made.map { file in
            PreviewFile(url: Self.url("\(folder)/\(file.name)"), mimeType: file.mimeType, page: file.page)
        }
    }

    // MARK: Existing files

    /// The files of an earlier preview, by its index.
    private func earlier() throws -> Set<String> {
        guard let read = try? FileBytes.read("\(folder)/\(Self.index)", most: 64 << 10) else { return [] }
        let text = String(decoding: read.bytes, as: UTF8.self)
        guard text.contains(Self.mark) else { return [] }
        // Text from the document contains no quotes, so it cannot match.
        let shown = text.matches(of: /(?:src|href)="(page-[0-9]+\.png|document\.pdf|picture(?:\.[a-z0-9]{1,10})?)"/)
        return Set(shown.map { String($0.1) } + [Self.index])
    }

    /// Checks that no other file is in the way, and that none of ours is the document itself.
    private func check(_ names: [String], _ earlier: Set<String>) throws {
        var source: stat?
        switch preview.source {
        case .text, .table: break
        case .pdf(let path), .picture(let path, _):
            var status = stat()
            guard ByteText.withPath(path, { stat($0, &status) }) == 0 else { throw FileBytes.failure(path) }
            source = status
        }
        for name in Set(names).union(earlier).sorted() {
            var status = stat()
            guard lstat("\(folder)/\(name)", &status) == 0 else { continue }
            let isSource = source.map { $0.st_dev == status.st_dev && $0.st_ino == status.st_ino } ?? false
            guard earlier.contains(name), !isSource else {
                throw DocumentInteractionError(
                    .failed,
                    "\(ByteText.shown(folder))/\(name): \(isSource ? "is the document itself" : "exists, and is not of a preview"); "
                        + "choose another folder")
            }
        }
    }

    // MARK: New files

    /// All files, the index first.
    private func make(_ draft: String) throws -> [Made] {
        switch preview.source {
        case .text(let lines):
            return [try index("<pre>" + lines.map(Self.escaped).joined(separator: "\n") + "</pre>", in: draft)]
        case .table(let rows):
            func row(_ cells: [String], _ tag: String) -> String {
                "<tr>" + cells.map { "<\(tag)>\(Self.escaped($0))</\(tag)>" }.joined() + "</tr>"
            }
            let head = rows.first.map { row($0, "th") } ?? ""
            let body = rows.dropFirst().map { row($0, "td") }.joined(separator: "\n")
            let table = "<table>\n<thead>\(head)</thead>\n<tbody>\n\(body)\n</tbody></table>"
            return [try index(table, in: draft)]
        case .picture(let path, let mimeType):
            guard let file = try copy(path, "picture" + Self.suffix(of: path), mimeType, in: draft) else {
                throw DocumentInteractionError(.tooMuch, "\(preview.title): too large to be copied")
            }
            let facts = preview.pages[0].lines.suffix(2).map(Self.escaped).joined(separator: ", ")
            return [try index("<p><img src=\"\(file.name)\" alt=\"\"></p><p>\(facts)</p>", in: draft), file]
        case .pdf(let path): return try pages(path, in: draft)
        }
    }

    private func pages(_ path: String, in draft: String) throws -> [Made] {
        let document = try PDFDocument(path, shown: preview.title, stop: stop)
        var files = try document.pictures(most: Self.mostPictures, in: draft).enumerated().map { number, picture in
            Made(name: (picture as NSString).lastPathComponent, mimeType: "image/png", page: number + 1)
        }
        let images = files.map { "<p><img src=\"\($0.name)\" alt=\"\($0.page ?? 0)\"></p>" }
        let whole = try copy(path, "document.pdf", "application/pdf", in: draft)
        if let whole { files.append(whole) }
        let link = whole == nil ? "" : "<p><a href=\"document.pdf\">PDF</a></p>"
        return [try index((images + [link]).joined(separator: "\n"), in: draft)] + files
    }

    /// Nil: the file is too large.
    private func copy(_ path: String, _ name: String, _ mimeType: String, in draft: String) throws -> Made? {
        var status = stat()
        guard ByteText.withPath(path, { stat($0, &status) }) == 0 else { throw FileBytes.failure(path) }
        guard status.st_size <= Self.mostCopied else { return nil }
        do { try FileManager.default.copyItem(at: ByteText.url(path), to: Self.url("\(draft)/\(name)")) } catch {
            throw DocumentInteractionError(.failed, "\(folder)/\(name): \(error.localizedDescription)")
        }
        return Made(name: name, mimeType: mimeType)
    }

    private func index(_ body: String, in draft: String) throws -> Made {
        let notes = preview.notes.map { "<p><em>\(Self.escaped($0))</em></p>" }.joined()
        // The policy lets nothing run, and nothing be fetched from elsewhere.
        let html = """
            <!DOCTYPE html>
            <html><head><meta charset="utf-8">\(Self.mark)<title>\(Self.escaped(preview.title))</title>
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src 'self' file:; style-src 'unsafe-inline'">
            <style>body{font-family:sans-serif;margin:1em}pre{white-space:pre-wrap}img{max-width:100%}
            table{border-collapse:collapse}td,th{border:1px solid #999;padding:.2em .5em;text-align:left}</style></head>
            <body>
            \(body)
            \(notes)</body></html>

            """
        do { try Data(html.utf8).write(to: Self.url("\(draft)/\(Self.index)")) } catch {
            throw DocumentInteractionError(.failed, "\(folder)/\(Self.index): \(error.localizedDescription)")
        }
        return Made(name: Self.index, mimeType: "text/html")
    }

    private static func url(_ path: String) -> URL { URL(filePath: path, directoryHint: .notDirectory) }

    private static func suffix(of path: String) -> String {
        let suffix = (path as NSString).pathExtension.lowercased()
        return suffix.wholeMatch(of: /[a-z0-9]{1,10}/) == nil ? "" : "." + suffix
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}

import ControlAPI
import Foundation

/// A preview as files.
struct PreviewFiles {
    private let preview: Preview
    private let folder: String
    private static let mostPictures = 50
    /// In bytes: larger documents are not copied.
    private static let mostCopied = 256 << 20

    init(_ preview: Preview, _ folder: String) {
        self.preview = preview
        self.folder = folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
    }

    /// Blocks.
    func write() throws -> [PreviewFile] {
        do { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) } catch {
            throw DocumentInteractionError(.failed, "\(folder): \(error.localizedDescription)")
        }
        switch preview.source {
        case .text(let lines):
            return [try index("<pre>" + lines.map(Self.escaped).joined(separator: "\n") + "</pre>")]
        case .table(let rows):
            func row(_ cells: [String], _ tag: String) -> String {
                "<tr>" + cells.map { "<\(tag)>\(Self.escaped($0))</\(tag)>" }.joined() + "</tr>"
            }
            let head = rows.first.map { row($0, "th") } ?? ""
            let body = rows.dropFirst().map { row($0, "td") }.joined(separator: "\n")
            return [try index("<table>\n<thead>\(head)</thead>\n<tbody>\n\(body)\n</tbody></table>")]
        case .picture(let path, let mimeType):
            guard let file = try copy(path, "picture" + Self.suffix(of: path), mimeType) else {
                throw DocumentInteractionError(.tooMuch, "\(preview.title): is too large to be copied")
            }
            let facts = preview.pages[0].lines.suffix(2).map(Self.escaped).joined(separator: ", ")
            return [
                try index("<p><img src=\"\(file.url.lastPathComponent)\" alt=\"\"></p><p>\(facts)</p>"), file,
            ]
        case .pdf(let path): return try pages(path)
        }
    }

    private func pages(_ path: String) throws -> [PreviewFile] {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        where name.hasPrefix("page-") && name.hasSuffix(".png") { unlink("\(folder)/\(name)") }
        let pictures = try PDFDocument(path, shown: preview.title).pictures(most: Self.mostPictures, in: folder)
        var files = pictures.enumerated().map { number, picture in
            PreviewFile(url: Self.url(picture), mimeType: "image/png", page: number + 1)
        }
        let images = files.map { "<p><img src=\"\($0.url.lastPathComponent)\" alt=\"\($0.page ?? 0)\"></p>" }
        let whole = try copy(path, "document.pdf", "application/pdf")
        if let whole { files.append(whole) }
        let link = whole == nil ? "" : "<p><a href=\"document.pdf\">PDF</a></p>"
        return [try index((images + [link]).joined(separator: "\n"))] + files
    }

    private func copy(_ path: String, _ name: String, _ mimeType: String) throws -> PreviewFile? {
        var status = stat()
        guard ByteText.withPath(path, { stat($0, &status) }) == 0 else { throw FileBytes.failure(path) }
        guard status.st_size <= Self.mostCopied else { return nil }
        let target = Self.url("\(folder)/\(name)")
        unlink("\(folder)/\(name)")
        do { try FileManager.default.copyItem(at: ByteText.url(path), to: target) } catch {
            throw DocumentInteractionError(.failed, "\(folder)/\(name): \(error.localizedDescription)")
        }
        return PreviewFile(url: target, mimeType: mimeType, page: nil)
    }

    private func index(_ body: String) throws -> PreviewFile {
        let notes = preview.notes.map { "<p><em>\(Self.escaped($0))</em></p>" }.joined()
        // Nothing runs, and nothing is fetched from elsewhere.
        let html = """
            <!DOCTYPE html>
            <html><head><meta charset="utf-8"><title>\(Self.escaped(preview.title))</title>
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src 'self' file:; style-src 'unsafe-inline'">
            <style>body{font-family:sans-serif;margin:1em}pre{white-space:pre-wrap}img{max-width:100%}
            table{border-collapse:collapse}td,th{border:1px solid #999;padding:.2em .5em;text-align:left}</style></head>
            <body>
            \(body)
            \(notes)</body></html>

            """
        let url = Self.url(folder + "/index.html")
        do { try Data(html.utf8).write(to: url, options: .atomic) } catch {
            throw DocumentInteractionError(.failed, "\(folder)/index.html: \(error.localizedDescription)")
        }
        return PreviewFile(url: url, mimeType: "text/html", page: nil)
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

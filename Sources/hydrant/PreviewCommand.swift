import ArgumentParser
import ControlAPI
import DocumentInteraction
import Foundation
import UniformTypes

struct PreviewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preview", abstract: "Show documents without a program for them.",
        discussion: """
            Shows texts and code, CSV as a table, PDF, and pictures; RTF, Office and OpenDocument through LibreOffice, \
            where that is installed. Documents are downloaded first. On a terminal, space and b turn pages, n and p go \
            to the next and the previous document, q ends. Without a terminal the command prints everything. --to \
            writes files for a browser.

            Examples:
              hydrant preview ~/Documents/report.pdf
              hydrant preview *.csv --title Figures
              hydrant preview letter.odt --to /tmp/letter && xdg-open /tmp/letter/1/index.html

            Exit status: 3 one of the documents has no preview.
            """)

    @Argument(help: "Documents, in a mount or not.", completion: .file())
    var paths: [String]

    @Option(help: ArgumentHelp("A title to show instead of the documents' names.", valueName: "text"))
    var title: String?

    @Option(
        help: ArgumentHelp(
            "A folder to write files into: 1/index.html for the first document, and so on.", valueName: "folder"),
        completion: .directory)
    var to: String?

    @Flag(
        help: """
            Print an array of objects: path, title, type, kind (text, table, pdf, picture, office), pages (number, \
            lines), notes, files (path, mimeType, page), error.
            """)
    var json = false

    private static let most = 1_000

    func validate() throws {
        if paths.isEmpty { throw ValidationError("name a document") }
        if paths.count > Self.most { throw ValidationError("at most \(Self.most) documents at a time") }
    }

    func run() async throws {
        let items = paths.map { PreviewItem(url: ByteText.url($0), title: title) }
        let controller = PreviewController(items: items)
        if !json && to == nil && isatty(STDIN_FILENO) == 1 && StandardOutput.isTerminal {
            return try await PreviewPager(controller).run()
        }
        try await interruptible { try await show(controller) }
    }

    private func show(_ controller: PreviewController) async throws {
        let items = controller.items
        var (lines, statuses) = ([Line](), [Int32]())
        for index in items.indices {
            controller.go(to: index)
            var line = Line(path: ByteText.shown(paths[index]), title: title ?? "")
            do {
                try await show(controller, &line)
            } catch let error as DocumentInteractionError {
                if !json { warn(error.message) }
                line.error = error.message
                statuses.append(error.code == .nothingToShow ? CommandExit.nothingToShow : CommandExit.failed)
            }
            lines.append(line)
        }
        if json { try StandardOutput.write(Output.json(lines)) }
        if let status = statuses.max(by: { ($0 == CommandExit.failed ? 1 : 0) < ($1 == CommandExit.failed ? 1 : 0) }) {
            throw ExitCode(status)
        }
    }

    private func show(_ controller: PreviewController, _ line: inout Line) async throws {
        let item = controller.items[controller.index]
        let interaction = try await DocumentInteractionController(url: item.url)
        line.type = interaction.type.identifier
        line.title = item.title ?? interaction.name
        let display = DownloadDisplay(isInterrupted: false)
        let preview: Preview
        do { preview = try await controller.preview(progress: json ? nil : display.show) } catch {
            display.clear()
            throw error
        }
        display.clear()
        defer { preview.close() }
        line.kind = preview.kind
        line.notes = preview.notes
        line.pages = preview.pages.map { Page(number: $0.number, lines: $0.lines) }
        if let to {
            let folder = "\(to)/\(controller.index + 1)"
            let files = try await preview.write(to: URL(filePath: folder, directoryHint: .isDirectory))
            line.files = files.map { file in
                File(path: file.url.path(percentEncoded: false), mimeType: file.mimeType, page: file.page)
            }
            if !json { try StandardOutput.write(paths: [files[0].url.path(percentEncoded: false)]) }
        } else if !json {
            try print(preview, isOneOfMany: controller.count > 1)
        }
    }

    private func print(_ preview: Preview, isOneOfMany: Bool) throws {
        if isOneOfMany { try StandardOutput.write(["==> \(preview.title) <=="]) }
        for page in preview.pages {
            if preview.pages.count > 1 { try StandardOutput.write(["── \(page.number) of \(preview.pages.count) ──"]) }
            for start in stride(from: 0, to: page.lines.count, by: 1_000) {
                try StandardOutput.write(Array(page.lines[start..<min(start + 1_000, page.lines.count)]))
            }
        }
        for note in preview.notes { warn("\(preview.title): \(note)") }
    }

    private struct Page: Encodable {
        var number: Int
        var lines: [String]
    }

    private struct File: Encodable {
        var path: String
        var mimeType: String
        var page: Int?
        private enum CodingKeys: String, CodingKey { case path, mimeType, page }

        // By hand, to keep the keys of nil values.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(path, forKey: .path)
            try container.encode(mimeType, forKey: .mimeType)
            try container.encode(page, forKey: .page)
        }
    }

    private struct Line: Encodable {
        var path: String
        var title: String
        var type: String?
        var kind: PreviewKind?
        var pages: [Page] = []
        var notes: [String] = []
        var files: [File] = []
        var error: String?

        init(path: String, title: String) { (self.path, self.title) = (path, title) }

        private enum CodingKeys: String, CodingKey { case path, title, type, kind, pages, notes, files, error }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(path, forKey: .path)
            try container.encode(title, forKey: .title)
            try container.encode(type, forKey: .type)
            try container.encode(kind, forKey: .kind)
            try container.encode(pages, forKey: .pages)
            try container.encode(notes, forKey: .notes)
            try container.encode(files, forKey: .files)
            try container.encode(error, forKey: .error)
        }
    }
}

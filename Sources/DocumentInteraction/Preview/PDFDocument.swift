import ChildProcess
import Foundation

/// A PDF, through poppler's programs.
struct PDFDocument {
    let pageCount: Int
    private let path: String
    private let shown: String
    private let stop: ChildProcess.Stop
    private static let patience = Duration.seconds(120)
    /// The largest text of all pages together, in bytes.
    private static let mostText = 8 << 20

    init(_ path: String, shown: String, stop: ChildProcess.Stop) throws {
        self.path = path
        self.shown = shown
        self.stop = stop
        let printed = try Self.run(["pdfinfo", path], shown, stop)
        guard let count = Self.pageCount(printed) else {
            throw DocumentInteractionError(.nothingToShow, "\(shown): has no pages")
        }
        pageCount = count
    }

    /// The page count that pdfinfo prints; nil: none. A title may contain a line that looks like it, but precedes it.
    static func pageCount(_ printed: String) -> Int? {
        let line = printed.split(separator: "\n").last { $0.hasPrefix("Pages:") }
        guard let count = line.flatMap({ Int($0.dropFirst(6).trimmingCharacters(in: .whitespaces)) }), count > 0 else {
            return nil
        }
        return min(count, mostPages)
    }

    /// Bounds a document's claim.
    private static let mostPages = 10_000_000

    private static func run(_ words: [String], _ shown: String, _ stop: ChildProcess.Stop) throws -> String {
        let ending: ChildProcess.Ending
        do {
            let bounded = BoundedProgram.words(words, seconds: 2 * patience.components.seconds)
            ending = try ChildProcess(bounded, limit: patience, mostPrinted: mostText, stop: stop).run(
                reading: .standardOutputAlone)
        } catch .stopped {
            throw CancellationError()
        } catch .notStarted(let code) where code == ENOENT {
            throw missing(words[0], shown)
        } catch .tooSlow {
            throw DocumentInteractionError(
                .tooMuch, "\(shown): a preview of it takes longer than \(patience.components.seconds) s")
        } catch { throw DocumentInteractionError(.failed, "\(shown): \(words[0]): \(error)") }
        if ending.status == BoundedProgram.missing { throw missing(words[0], shown) }
        guard ending.status == 0 else {
            throw DocumentInteractionError(
                .nothingToShow, "\(shown): cannot be read as PDF; it may be damaged, or need a password")
        }
        return String(decoding: ending.printed, as: UTF8.self)
    }

    private static func missing(_ program: String, _ shown: String) -> DocumentInteractionError {
        DocumentInteractionError(
            .missingProgram, "\(shown): a preview needs \(program); install poppler-utils")
    }

    /// The texts of the first pages.
    func texts(most: Int) throws -> [String] {
        let count = min(most, pageCount)
        let text = try Self.run(
            ["pdftotext", "-q", "-layout", "-enc", "UTF-8", "-l", "\(count)", path, "-"], shown, stop)
        // A form feed ends each page. If the text was cut, the last page is incomplete.
        if text.utf8.count >= Self.mostText { return text.split(separator: "\u{c}").dropLast().map(String.init) }
        let pages = text.split(separator: "\u{c}", omittingEmptySubsequences: false).prefix(count).map(String.init)
        return pages + [String](repeating: "", count: max(0, count - pages.count))
    }

    /// The paths of pictures of the first pages.
    func pictures(most: Int, in folder: String) throws -> [String] {
        // Scale by the longer side, whatever size a page claims.
        _ = try Self.run(
            ["pdftoppm", "-q", "-png", "-scale-to", "1600", "-l", "\(min(most, pageCount))", path, folder + "/page"],
            shown, stop)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        return names.filter { $0.hasPrefix("page-") && $0.hasSuffix(".png") }.sorted().map { "\(folder)/\($0)" }
    }
}

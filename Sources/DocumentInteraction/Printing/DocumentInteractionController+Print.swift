import ChildProcess
import ControlAPI
import Foundation
import UniformTypes

/// A print job.
public struct PrintJob: Sendable, Hashable, Codable {
    /// The job's name in CUPS: `laser-42`.
    public let id: String
    /// The printer.
    public let printer: String
}

extension DocumentInteractionController {
    private static let patience = Duration.seconds(120)

    /// Whether the document can be printed, as it is or through LibreOffice. It need not be here.
    public var canPrint: Bool { printedAs != nil }

    private enum PrintedAs {
        /// As it is, with this type, or with the type that CUPS detects.
        case itself(String?)
        /// As a PDF that LibreOffice makes.
        case pdf
    }

    private var printedAs: PrintedAs? {
        if isFolder { return nil }
        let table = UniformTypeTable.system
        func isOf(_ identifiers: String...) -> Bool {
            identifiers.contains { table.conforms(type, to: UniformType($0)) }
        }
        if isOf("com.adobe.pdf", "com.adobe.postscript") { return .itself(nil) }
        if isOf("public.jpeg", "public.png", "public.tiff", "com.compuserve.gif", "com.microsoft.bmp") {
            return .itself(nil)
        }
        switch previewKind {
        case .office: return .pdf
        // Print a web page as rendered, not its source.
        case .text where isOf("public.html", "public.xhtml"): return .pdf
        case .text, .table: return .itself("text/plain")
        case .picture where isOf("public.svg-image"): return .pdf
        default: return nil
        }
    }

    /// Downloads the document and sends it to CUPS, which has a copy when this returns.
    ///
    /// - Parameters:
    ///   - printer: nil: the user's default.
    ///   - copies: 1 to 999.
    ///   - progress: of the download.
    /// - Throws: ``DocumentInteractionError``: ``DocumentInteractionError/Code/nothingToShow`` when the type cannot be
    ///   printed,
    ///   ``DocumentInteractionError/Code/missingProgram``, ``DocumentInteractionError/Code/download``, and errors of
    ///   CUPS. `CancellationError`.
    public func print(
        on printer: String? = nil, copies: Int = 1, progress: (@Sendable (DownloadProgress) -> Void)? = nil
    ) async throws -> PrintJob {
        guard let printedAs else {
            throw DocumentInteractionError(
                .nothingToShow,
                "\(place.shown): \(isFolder ? "a folder" : mimeType ?? type.identifier) cannot be printed; open it in a program that prints it"
            )
        }
        guard (1...999).contains(copies) else {
            throw DocumentInteractionError(.failed, "\(copies) copies: choose 1 to 999")
        }
        try await download(progress: progress)
        let (shown, title) = (place.shown, name)
        switch printedAs {
        case .itself(let format):
            return try await reading { path in
                try await onThread { stop in try Self.submit(path, shown, title, printer, copies, format, stop) }
            }
        case .pdf:
            let converter = try OfficeConverter(shown: shown)
            defer { converter.folder.remove() }
            try await reading { path in try await onThread { try converter.take(path) } }
            return try await onThread { stop in
                try Self.submit(converter.pdf(stop), shown, title, printer, copies, nil, stop)
            }
        }
    }

    /// Runs lp(1) of CUPS.
    private static func submit(
        _ path: String, _ shown: String, _ title: String, _ printer: String?, _ copies: Int, _ format: String?,
        _ stop: ChildProcess.Stop
    ) throws -> PrintJob {
        var words = ["env", "LC_ALL=C", "LANGUAGE=C", "lp", "-n", "\(copies)", "-t", title]
        if let printer { words += ["-d", printer] }
        if let format { words += ["-o", "document-format=\(format)"] }
        // Read standard error too, which has lp's errors.
        words = ["sh", "-c", "exec \"$@\" 2>&1", "sh"] + words + ["--", path]
        let ending: ChildProcess.Ending
        do {
            ending = try ChildProcess(words, limit: patience, stop: stop).run(reading: .standardOutput)
        } catch .stopped {
            throw CancellationError()
        } catch .tooSlow {
            throw DocumentInteractionError(
                .failed, "\(shown): CUPS did not take it within \(patience.components.seconds) s; try again")
        } catch { throw DocumentInteractionError(.failed, "\(shown): lp \(error)") }
        let said = String(decoding: ending.printed, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        if ending.status == 127 {
            throw DocumentInteractionError(
                .missingProgram, "\(shown): printing needs CUPS' lp, which is not installed (cups-client)")
        }
        guard ending.status == 0, let match = said.firstMatch(of: /request id is ((\S+)-[0-9]+)/) else {
            let why = said.isEmpty ? "lp has ended with \(ending.status)" : said
            throw DocumentInteractionError(.failed, "\(shown): not printed: \(why) (lpstat -e lists the printers)")
        }
        return PrintJob(id: String(match.1), printer: String(match.2))
    }
}

import ArgumentParser
import ControlAPI
import DocumentInteraction
import Foundation

struct PrintCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "print", abstract: "Print documents through CUPS.",
        discussion: """
            Prints texts, PDF, PostScript and pictures as they are; RTF, Office, OpenDocument and web pages through \
            LibreOffice, where that is installed. Documents are downloaded first; when the command ends, CUPS has \
            them.

            Examples:
              hydrant print ~/Documents/report.pdf
              hydrant print letter.odt --printer laser --copies 2 --json | jq -r '.[].job'

            Exit status: 3 a document of this type cannot be printed.
            """)

    @Argument(help: "Documents, in a mount or not.", completion: .file())
    var paths: [String]

    @Option(help: ArgumentHelp("A printer of lpstat -e; default: the default printer.", valueName: "name"))
    var printer: String?

    @Option(help: ArgumentHelp("The number of copies, 1 to 999.", valueName: "number"))
    var copies = 1

    @Flag(help: "Print an array of objects: path, job, printer, error.")
    var json = false

    func validate() throws {
        if paths.isEmpty { throw ValidationError("name a document") }
        guard (1...999).contains(copies) else { throw ValidationError("--copies \(copies): choose 1 to 999") }
    }

    private struct Line: Encodable {
        var path: String
        var job: PrintJob?
        var error: String?
        private enum CodingKeys: String, CodingKey { case path, job, printer, error }

        // By hand, to keep the keys of nil values.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(path, forKey: .path)
            try container.encode(job?.id, forKey: .job)
            try container.encode(job?.printer, forKey: .printer)
            try container.encode(error, forKey: .error)
        }
    }

    func run() async throws { try await interruptible { try await printAll() } }

    private func printAll() async throws {
        var (lines, status) = ([Line](), CommandExit.done)
        for path in paths {
            let display = DownloadDisplay(isInterrupted: false)
            var line = Line(path: ByteText.shown(path))
            do {
                let controller = try await DocumentInteractionController(url: ByteText.url(path))
                line.job = try await controller.print(on: printer, copies: copies, progress: json ? nil : display.show)
                display.clear()
                if !json { try StandardOutput.write(["\(path): \(line.job?.id ?? "")"]) }
            } catch let error as DocumentInteractionError {
                display.clear()
                if !json { warn(error.message) }
                line.error = error.message
                if error.code != .nothingToShow {
                    status = CommandExit.failed
                } else if status == CommandExit.done {
                    status = CommandExit.nothingToShow
                }
            }
            lines.append(line)
        }
        if json { try StandardOutput.write(Output.json(lines)) }
        if status != CommandExit.done { throw ExitCode(status) }
    }
}

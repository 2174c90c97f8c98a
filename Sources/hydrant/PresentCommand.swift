import ArgumentParser
import ControlAPI
import Foundation

struct PresentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "present",
        abstract: "Show an item: print the requests and changes of other programs.",
        discussion: """
            Prints a line for each message, until interrupted: registered; relinquishToReader, relinquishToWriter, \
            saveChanges and accommodateDeletion, which are questions that a coordinating program waits for (at most 5 \
            seconds); reacquire, when that program is done; changed, moved, deleted, conflict and resolved, whichever \
            program caused it. For a folder also subitemChanged and subitemDeleted, with an item's path, after a \
            coordinated access to that item.

            With --json each question has a number, and a line with that number on standard input answers it. Without \
            --json the command answers at once.

            Examples:
              hydrant present notes.txt
              hydrant present --json --purpose my-editor notes.txt
            """)

    @Argument(help: "The item; renames and moves are followed.", completion: .file())
    var path: String

    @Option(help: ArgumentHelp("A purpose; accesses with this purpose do not ask.", valueName: "identifier"))
    var purpose: String?

    @Flag(help: "Print an object a line: kind, question, path (each may be null).")
    var json = false

    private struct Line: Encodable {
        var message: PresenterMessage
        private enum CodingKeys: String, CodingKey { case kind, question, path }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(message.kind, forKey: .kind)
            try container.encode(message.question, forKey: .question)
            try container.encode(message.path, forKey: .path)
        }
    }

    func run() async throws {
        let place = try MountedPath(path)
        let id = UUID().uuidString
        let request = PresenterRequest(id: id, purpose: purpose ?? UUID().uuidString, path: place.relative)
        if json { answers(of: id, to: place.mountPoint) }
        let response = try await follow(place.mountPoint, .present(request)) { news in
            guard case .presenter(let message) = news else { return }
            if json {
                try StandardOutput.write(Output.json(Line(message: message), oneLine: true))
            } else {
                try StandardOutput.write([
                    ([message.kind.rawValue] + [message.path].compactMap { $0 }).joined(separator: "  ")
                ])
                if let question = message.question {
                    _ = try await ask(place.mountPoint, .answer(presenter: id, question: question), timeout: 10)
                }
            }
        }
        if case .failure(let failure) = response { throw fail(failure.message) }
    }

    /// Reads lines with the numbers of questions, and answers these.
    private func answers(of id: String, to mountPoint: String) {
        Thread {
            while let line = readLine() {
                guard let question = Int(line.trimmingCharacters(in: .whitespaces)) else {
                    _ = fail("“\(line)” is not the number of a question")
                    continue
                }
                Task { _ = try? await ask(mountPoint, .answer(presenter: id, question: question), timeout: 10) }
            }
        }.start()
    }
}

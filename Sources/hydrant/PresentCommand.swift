import ArgumentParser
import ControlAPI
import Foundation

struct PresentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "present", abstract: "Be asked before others use an item, and told what happens to it.",
        discussion: """
            A line a message, until interrupted: registered; relinquishToReader, relinquishToWriter, saveChanges and \
            accommodateDeletion, which somebody who coordinates waits for (at most 5 seconds); reacquire, when he is done; \
            changed, moved, deleted, conflict and resolved, whoever did it. Of a folder also subitemChanged and \
            subitemDeleted, with the path of an item in it, after somebody's coordinated access to that.

            With --json the questions carry a number, and are answered by a line with that number on standard input; \
            without, they are answered at once.

            Examples:
              hydrant present notes.txt
              hydrant present --json --purpose my-editor notes.txt
            """)

    @Argument(help: "The item; it is followed wherever it goes.", completion: .file())
    var path: String

    @Option(help: ArgumentHelp("Coordination with this purpose does not ask.", valueName: "identifier"))
    var purpose: String?

    @Flag(help: "Print an object a line: kind, question, path; null where there is none.")
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

    /// Lines with the numbers of questions.
    private func answers(of id: String, to mountPoint: String) {
        Thread {
            while let line = readLine() {
                guard let question = Int(line.trimmingCharacters(in: .whitespaces)) else {
                    _ = fail("“\(line)” is no number of a question")
                    continue
                }
                Task { _ = try? await ask(mountPoint, .answer(presenter: id, question: question), timeout: 10) }
            }
        }.start()
    }
}

import Documents
import Foundation
import UniformTypes

/// A list of lines.
final class Jottings: Document {
    private(set) var lines: [String] = []

    override func contents(forType type: UniformType) throws -> DocumentContents {
        .data(Data(lines.map { $0 + "\n" }.joined().utf8))
    }

    override func load(fromContents contents: DocumentContents, ofType type: UniformType) throws {
        // Refuse contents that could not be written back unchanged: a folder, or another encoding.
        guard let text = contents.data.flatMap({ String(validating: $0, as: UTF8.self) }) else {
            throw DocumentError(.badContents, "\(localizedName): not UTF-8 text")
        }
        // Split bytes, because CR LF is one character in Swift.
        lines = text.utf8.split(separator: 10, omittingEmptySubsequences: false).map { String(Substring($0)) }
        if lines.last == "" { lines.removeLast() }
    }

    func add(_ line: String) {
        lines.append(line)
        updateChangeCount(.done)
    }
}

/// Adds a line to a document, or follows the document and shows its last line at each change:
///
///     hydrant-jot ~/Documents/todo.txt buy milk
///     hydrant-jot ~/Documents/todo.txt
@main @MainActor
enum Jot {
    static func main() async {
        do { try await run() } catch {
            say("hydrant-jot: \(error)", to: .standardError)
            exit(1)
        }
    }

    private static func run() async throws {
        guard let url = Document.fileURL(ofArgument: 1) else { return print("usage: hydrant-jot FILE [WORD…]") }
        let document = Jottings(fileURL: url)
        try await document.openOrCreate()
        let words = CommandLine.arguments.dropFirst(2)
        if !words.isEmpty {
            document.add(words.joined(separator: " "))
            try await document.autosaveIfNeeded()
            if let own = document.unresolvedConflictVersions.first(where: \.isOwn) {
                say("somebody else has changed it; the line is in \(own.url.lastPathComponent)", to: .standardError)
            }
            return try await document.close()
        }
        let notifications = document.notifications()
        show(document)
        for await notification in notifications {
            switch notification {
            case .contentsLoaded, .moved, .stateChanged: show(document)
            case .deleted: return
            default: break
            }
        }
    }

    private static func show(_ document: Jottings) {
        say("\(document.localizedName) (\(document.documentState)): \(document.lines.last ?? "")", to: .standardOutput)
    }

    /// Replaces characters that control a terminal by question marks.
    private static func say(_ text: String, to file: FileHandle) {
        let steering: Set<Unicode.GeneralCategory> = [.control, .format, .lineSeparator, .paragraphSeparator]
        let plain = text.unicodeScalars.map { steering.contains($0.properties.generalCategory) ? "?" : $0 }
        file.write(Data((String(String.UnicodeScalarView(plain)) + "\n").utf8))
    }
}

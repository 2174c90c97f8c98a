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
        lines = String(decoding: contents.data ?? Data(), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    func add(_ line: String) {
        lines.append(line)
        updateChangeCount(.done)
    }
}

/// Adds a line to a document, or follows it and shows its last line whenever somebody changes it:
///
///     hydrant-jot ~/Documents/todo.txt buy milk
///     hydrant-jot ~/Documents/todo.txt
@main @MainActor
enum Jot {
    static func main() async throws {
        let words = CommandLine.arguments.dropFirst()
        guard let path = words.first else { return print("usage: hydrant-jot FILE [WORD…]") }
        let document = Jottings(fileURL: URL(filePath: path, directoryHint: .notDirectory))
        do {
            try await document.open()
        } catch let error as DocumentError where error.code == .missing {
            try await document.save(to: document.fileURL, for: .forCreating)
        }
        if words.count > 1 {
            document.add(words.dropFirst().joined(separator: " "))
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
        let text = "\(document.localizedName) (\(document.documentState)): \(document.lines.last ?? "")\n"
        FileHandle.standardOutput.write(Data(text.utf8))
    }
}

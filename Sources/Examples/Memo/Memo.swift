import DocumentContainers
import Foundation
import MetadataQuery
import QueryLanguage

/// Keeps notes in a container of its own, which other programs' pickers offer, and prints their number:
///
///     hydrant-memo call Ada
@main
enum Memo {
    static let identifier = "org.example.memo"

    static func main() async {
        let words = CommandLine.arguments.dropFirst().joined(separator: " ")
        guard !words.isEmpty else { return print("usage: hydrant-memo WORDS…") }
        do { try await keep(words) } catch {
            FileHandle.standardError.write(Data("hydrant-memo: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func keep(_ words: String) async throws {
        // An installed program has this file in /usr/share/hydrant/containers.
        try DocumentContainer.install(
            manifest: """
                identifier = "\(identifier)"
                name = "Memos"
                public = true
                levels = "none"
                types = ["public.text"]
                """)
        let folder = try await DocumentContainer.url(forIdentifier: identifier)
        let note = folder.appending(path: "\(UUID().uuidString).txt", directoryHint: .notDirectory)
        try Data((words + "\n").utf8).write(to: note)

        let query = MetadataQuery(
            try QueryPredicate(text: "kind:text"), in: [.container(identifier: identifier)], isLive: false)
        try await query.gather()
        print(query.resultCount == 1 ? "1 note" : "\(query.resultCount) notes")
    }
}

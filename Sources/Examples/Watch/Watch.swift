import Foundation
import MetadataQuery
import QueryLanguage

/// Shows the number of documents in a folder that match a query, and the newest, at each change:
///
///     hydrant-watch ~/Documents kind:pdf 'modified:<30d'
@main
enum Watch {
    static func main() async {
        let words = CommandLine.arguments.dropFirst()
        guard let folder = words.first else { return print("usage: hydrant-watch FOLDER [QUERY…]") }
        do { try await watch(folder, words.dropFirst().joined(separator: " ")) } catch {
            FileHandle.standardError.write(Data("hydrant-watch: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func watch(_ folder: String, _ text: String) async throws {
        let query = MetadataQuery(
            try QueryPredicate(text: text),
            in: [.items(at: URL(filePath: folder, directoryHint: .isDirectory))],
            sortedBy: [MetadataSort(.contentModificationDate, ascending: false)])
        query.batchingInterval = .milliseconds(200)
        let notifications = query.notifications()
        try await query.start()
        for await notification in notifications {
            switch notification {
            case .gatheringProgress: break
            case .finishedGathering, .updated: show(query)
            case .domainUnavailable(_, let error): print(error)
            }
        }
    }

    private static func show(_ query: MetadataQuery) {
        let missing = query.results.filter { $0.download == .placeholder }.count
        var text = "\(query.resultCount) found, \(missing) of them not here\n"
        for item in query.results.prefix(3) { text += "  \(item.path): \(item.size) bytes\n" }
        FileHandle.standardOutput.write(Data(text.utf8))
    }
}

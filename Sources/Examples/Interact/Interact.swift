import DocumentInteraction
import Foundation

/// Prints a document's type and menu, and performs an entry of the menu:
///
///     hydrant-interact ~/Documents/report.pdf
///     hydrant-interact ~/Documents/report.pdf preview
@main
enum Interact {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        guard let path = words.first else { return print("usage: hydrant-interact DOCUMENT [ENTRY]") }
        do { try await show(path, entry: words.dropFirst().first) } catch {
            print((error as? DocumentInteractionError).map { "\($0.code): \($0)" } ?? "\(error)")
            exit(1)
        }
    }

    private static func show(_ path: String, entry: String?) async throws {
        let document = try await DocumentInteractionController(
            url: URL(filePath: path, directoryHint: .notDirectory))
        document.annotation = ["asked-by": "hydrant-interact"]
        let count = OptionsMenu.Action(id: "count", title: "Count its bytes") { print("\(document.size) bytes") }
        let menu = await document.optionsMenu(adding: [count])
        guard let entry else {
            print("\(document.name): \(document.type), here: \(try await document.isDownloaded())")
            for (size, icon) in await document.icons(sizes: [16, 48]).sorted(by: { $0.key < $1.key }) {
                print("  icon of \(size): \(icon.path(percentEncoded: false))")
            }
            print("  thumbnail: \(await document.thumbnail()?.count ?? 0) bytes")
            for item in menu.items { print("  \(item.id): \(item.title)") }
            return
        }
        try await perform(entry, menu)
    }

    private static func perform(_ entry: String, _ menu: OptionsMenu) async throws {
        let outcome = try await menu.perform(entry) { print("downloading: \($0.bytes) of \($0.total) bytes") }
        switch outcome {
        case .opened(let opened): print("opened in \(opened.program.name)")
        case .preview(let preview): print(preview.pages[0].lines.joined(separator: "\n"))
        case .printed(let job): print("printed as \(job.id)")
        case .copied, .performed: break
        }
    }
}

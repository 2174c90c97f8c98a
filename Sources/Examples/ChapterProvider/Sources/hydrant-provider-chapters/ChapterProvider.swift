import Daemon
import FileProvider
import Foundation

@main struct Main {
    static func main() async {
        await ProviderMain.run(scheme: "chapters") { location in try ChapterProvider(file: location.path) }
    }
}

/// A Markdown file as a folder: each `# Heading` begins a document. The third chapter is the item “3”.
struct ChapterProvider: ReadOnlyFileProvider {
    let file: String
    init(file: String) throws(FileProviderError) {
        self.file = file
        _ = try items()  // An error here goes to the user, and nothing is mounted.
    }

    /// The folder, followed by the chapters.
    func items() throws(FileProviderError) -> [(item: Item, bytes: [UInt8])] {
        guard let saved = try? FileManager.default.attributesOfItem(atPath: file)[.modificationDate] as? Date,
            let text = try? String(contentsOfFile: file, encoding: .utf8)
        else { throw FileProviderError(.serverUnreachable, "\(file): cannot be read as text") }
        let chapters = zip(1..., text.split(separator: /^#\s/.anchorsMatchLineEndings())).map { number, text in
            let title = text.prefix { $0 != "\n" }.prefix(60).replacing("/", with: "-")
            return (item("\(number)", "\(number) \(title).md", .document, text.utf8.count, saved), Array(text.utf8))
        }
        return [(item(ItemIdentifier.rootContainer.rawValue, "", .folder, 0, saved), [])] + chapters
    }

    func item(_ id: String, _ name: String, _ kind: ItemKind, _ size: Int, _ saved: Date) -> Item {
        let date = FileTime(nanoseconds: Int64(saved.timeIntervalSince1970 * 1e9))
        let version = ItemVersion(content: .init("\(date.nanoseconds)"), metadata: .init("\(date.nanoseconds)"))
        return Item(
            identifier: ItemIdentifier(id), parentIdentifier: .rootContainer, filename: Filename(name), kind: kind,
            size: Int64(size), contentModificationDate: date, version: version)
    }

    func find(_ id: ItemIdentifier) throws(FileProviderError) -> (item: Item, bytes: [UInt8]) {
        if let found = try items().first(where: { $0.item.identifier == id }) { return found }
        throw FileProviderError(.noSuchItem, "\(file): has no chapter \(id)")
    }

    func providePlaceholder(for id: ItemIdentifier) async throws(FileProviderError) -> Item { try find(id).item }
    func enumerateItems(in folder: ItemIdentifier, startingAt _: Page?) async throws(FileProviderError) -> ItemPage {
        guard try find(folder).item.kind.isFolder else { throw FileProviderError(.unsupported, "\(folder): a chapter") }
        return ItemPage(items: try items().dropFirst().map(\.item))
    }

    func startProvidingItem(
        _ id: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(FileProviderError) {
        let (item, bytes) = try find(id)
        guard item.version.content == version else {
            throw FileProviderError(.versionMismatch, "\(file): was saved meanwhile", item: item)
        }
        try await sink.write(Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]), at: range.lowerBound)
    }
}

import DocumentPicker
import Foundation
import UniformTypes

/// A picker that shows the documents that were changed last, of all folders. For export and move it takes documents
/// into one folder, `Inbox`.
actor RecentPicker: DocumentPickerExtension {
    private let context: DocumentPickerContext
    private var found: [(path: String, entry: PickerPage.Entry)] = []
    private static let most = 20

    init(context: DocumentPickerContext) { self.context = context }

    func prepareForPresentation(in mode: DocumentPickerMode) async throws {
        guard let storage = context.documentStorageURL else { throw DocumentPickerError("there is no file provider") }
        if let original = context.originalURL {
            return await context.show(
                PickerPage(message: "It goes into the folder Inbox.", filename: original.lastPathComponent))
        }
        found = Self.recent(in: storage.path(percentEncoded: false), context.validTypes ?? [])
        await show("")
    }

    func handle(_ action: PickerAction) async throws {
        switch action {
        case .search(let text): await show(text)
        case .choose(let id):
            guard let chosen = found.first(where: { $0.entry.id == id }) else { return }
            try await context.dismissGrantingAccess(to: URL(filePath: chosen.path, directoryHint: .notDirectory))
        case .putHere(let name): try await put(name)
        default: await show("")
        }
    }

    private func show(_ search: String) async {
        let shown = found.map(\.entry).filter { search.isEmpty || $0.name.localizedCaseInsensitiveContains(search) }
        await context.show(PickerPage(entries: shown, message: shown.isEmpty ? "Nothing." : nil, search: search))
    }

    private func put(_ name: String?) async throws {
        guard let storage = context.documentStorageURL, let original = context.originalURL else { return }
        let inbox = storage.appending(path: "Inbox", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: inbox, withIntermediateDirectories: true)
        let copy = inbox.appending(path: name ?? original.lastPathComponent, directoryHint: .notDirectory)
        guard !FileManager.default.fileExists(atPath: copy.path(percentEncoded: false)) else {
            throw DocumentPickerError("Inbox has a document of this name; choose another name")
        }
        try FileManager.default.copyItem(at: original, to: copy)
        try await context.dismissGrantingAccess(to: copy)
    }

    /// Reads names, sizes and dates, which needs no download.
    private static func recent(in folder: String, _ types: [UniformType]) -> [(path: String, entry: PickerPage.Entry)] {
        let table = UniformTypeTable.system
        var all: [(path: String, entry: PickerPage.Entry)] = []
        for case let name as String in FileManager.default.enumerator(atPath: folder) ?? .init() {
            let path = (folder.hasSuffix("/") ? folder : folder + "/") + name
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
                attributes[.type] as? FileAttributeType == .typeRegular
            else { continue }
            let type = table.type(ofFilename: name)
            let date = (attributes[.modificationDate] as? Date)?.timeIntervalSince1970
            all.append(
                (
                    path,
                    PickerPage.Entry(
                        id: name, name: (name as NSString).lastPathComponent, type: type.identifier,
                        size: (attributes[.size] as? Int).map(Int64.init), modified: date,
                        isSelectable: table.conforms(type, toAnyOf: types))
                ))
        }
        return Array(all.sorted { ($0.entry.modified ?? 0) > ($1.entry.modified ?? 0) }.prefix(most))
    }
}

@main
enum Main {
    static func main() async { await DocumentPickerExtensionMain.run(RecentPicker.self) }
}

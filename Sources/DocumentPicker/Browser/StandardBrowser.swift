import ControlAPI
import DocumentContainers
import FileCoordination
import Foundation
import UniformTypes

/// The extension of a domain without one of its own: shows the mount's folders and documents.
actor StandardBrowser: DocumentPickerExtension {
    private let context: DocumentPickerContext
    private let isDropBox: Bool
    private let client: DomainClient?
    private let container: DocumentContainer?
    private let mountPoint: String
    /// The folder where browsing begins, relative to the mount point.
    private let base: [String]
    /// The present folder, relative to ``base``.
    private var folder: [String] = []
    private var items: [FolderListing.Item] = []
    private var search = ""
    private var isLoading = false
    private var failure: String?
    private var transfers: [String: RunningTransfer] = [:]
    private var watch: Task<Void, Never>?
    private var showing = OrderedCalls()

    init(context: DocumentPickerContext) { self.init(context: context, of: nil) }

    /// - Parameter provider: the provider to browse; if it stands for a container, only the container's folder.
    init(context: DocumentPickerContext, of provider: PickerProvider?) {
        self.context = context
        isDropBox = provider?.manifest.isDropBox ?? false
        container = provider?.container
        base = container?.folder ?? []
        mountPoint = context.documentStorageURL.map { DismissalRules.folderPath($0) } ?? ""
        client = try? DomainClient(mountPoint)
    }

    deinit { watch?.cancel() }

    func prepareForPresentation(in mode: DocumentPickerMode) async throws {
        guard client != nil else { throw DocumentPickerError("there is nothing to browse without a file provider") }
        if let container {
            do { _ = try await container.url() } catch { throw DocumentPickerError("\(error)") }
        }
        if isDropBox { return await show() }
        watch = Task { [weak self] in
            while (try? await Task.sleep(for: .milliseconds(300))) != nil {
                guard let self else { return }
                await self.updateTransfers()
            }
        }
        try await open([])
    }

    func handle(_ action: PickerAction) async throws {
        switch action {
        case .choose(let name): try await choose(name)
        case .up: if !folder.isEmpty { try await open(folder.dropLast()) }
        case .location(let index):
            guard index >= 0, index <= folder.count else { return }
            try await open(Array(folder.prefix(index)))
        case .search(let text):
            search = text
            await show()
        case .makeFolder(let name): try await makeFolder(name)
        case .putHere(let name): try await putHere(name)
        default: break
        }
    }

    // MARK: Listing

    private func open(_ path: [String]) async throws {
        guard let client else { return }
        let before = (folder, items)
        (folder, items, search, isLoading, failure) = (path, [], "", true, nil)
        await show()
        defer { isLoading = false }
        do { items = try await FolderListing.read(base + path, client) } catch {
            isLoading = false
            // Keep showing the folder before, if there was one.
            if !before.1.isEmpty { (folder, items) = before } else { failure = "\(error)" }
            await show()
            throw error
        }
        isLoading = false
        await show()
    }

    private func updateTransfers() async {
        guard let client, !isLoading, let status = try? await client.domain() else { return }
        let own = Dictionary(
            (status.transfers ?? []).filter { $0.direction == .download }.map { ($0.path, $0) },
            uniquingKeysWith: { first, _ in first })
        let ended = transfers.keys.filter { own[$0] == nil }
        if own == transfers { return }
        transfers = own
        for path in ended {
            // The download is complete, or was given up.
            guard path.hasPrefix(mountPoint + "/"),
                let status = try? await client.status([PathBytes(String(path.dropFirst(mountPoint.count + 1)))]).first,
                let index = items.firstIndex(where: { fullPath($0.name) == path })
            else { continue }
            items[index].isHere = status.state == .downloaded
        }
        await show()
    }

    private func fullPath(_ name: String) -> String { ([mountPoint] + base + folder + [name]).joined(separator: "/") }

    private func show() async {
        let choosesDocument = context.documentPickerMode?.choosesDocument ?? true
        var page = PickerPage(location: folder, search: search, isLoading: isLoading)
        page.message = failure
        if !choosesDocument {
            page.filename = context.originalURL?.lastPathComponent
            page.canMakeFolder = !isDropBox && showsFolders
        }
        if isDropBox {
            page.message = "Documents that are put here are not listed."
        } else {
            page.entries = items.filter { matches($0.name) && (!$0.isFolder || showsFolders) }.map {
                entry($0, choosesDocument)
            }
            if page.entries.isEmpty && !isLoading && page.message == nil {
                page.message = search.isEmpty ? "This folder is empty." : "No name here contains “\(search)”."
            }
        }
        await showing.add { [context, page] in await context.show(page) }.value
    }

    /// Whether the container may have folders at this level.
    private var showsFolders: Bool {
        switch container?.folderLevels {
        case .none?: false
        case .one?: folder.isEmpty
        case .any?, nil: true
        }
    }

    private func matches(_ name: String) -> Bool {
        search.isEmpty || name.range(of: search, options: [.caseInsensitive, .diacriticInsensitive]) != nil
    }

    private func entry(_ item: FolderListing.Item, _ choosesDocument: Bool) -> PickerPage.Entry {
        if item.isFolder {
            return PickerPage.Entry(
                id: item.name, name: item.name, isFolder: true, type: UniformType.folder.identifier,
                modified: item.modified)
        }
        let table = UniformTypeTable.system
        let type = table.type(ofFilename: item.name)
        var note: String?
        if let transfer = transfers[fullPath(item.name)], transfer.total > 0 {
            note = "downloading \(100 * transfer.bytes / transfer.total) %"
        }
        return PickerPage.Entry(
            id: item.name, name: item.name, type: type.identifier, size: item.size, modified: item.modified,
            isHere: item.isHere,
            isSelectable: choosesDocument && table.conforms(type, toAnyOf: context.validTypes ?? []), note: note)
    }

    // MARK: Choosing

    private func choose(_ name: String) async throws {
        guard let item = items.first(where: { $0.name == name && (!$0.isFolder || showsFolders) }) else {
            throw DocumentPickerError("“\(name)” is not in this folder, or no longer")
        }
        if item.isFolder { return try await open(folder + [name]) }
        guard entry(item, context.documentPickerMode?.choosesDocument ?? true).isSelectable else {
            throw DocumentPickerError("“\(name)” has none of the wanted types; choose another document")
        }
        try await context.dismissGrantingAccess(to: URL(filePath: fullPath(name), directoryHint: .notDirectory))
    }

    private func check(_ name: String) throws {
        if name.isEmpty || name == "." || name == ".." || name.contains("/") || name.contains("\0") {
            throw DocumentPickerError("“\(name)” cannot be a name")
        }
        if name.utf8.count > 255 { throw DocumentPickerError("“\(name)” is longer than 255 bytes") }
    }

    private func makeFolder(_ name: String) async throws {
        try check(name)
        guard showsFolders else { throw DocumentPickerError("“\(name)”: this place takes no folders here") }
        let path = fullPath(name)
        try await onThread {
            guard mkdir(path, 0o777) == 0 else {
                throw errno == EEXIST
                    ? DocumentPickerError("“\(name)” exists here already; choose another name")
                    : FileCopy.failure(path)
            }
        }
        try await open(folder + [name])
    }

    /// Copies the document under a coordinator without a purpose, so that the domain uploads the copy.
    private func putHere(_ wanted: String?) async throws {
        guard let original = context.originalURL else { return }
        let name = wanted ?? original.lastPathComponent
        try check(name)
        let path = fullPath(name)
        let source = original.path(percentEncoded: false)
        try await FileCoordinator().coordinate(
            writingItemAt: URL(filePath: path, directoryHint: .notDirectory), options: .forReplacing
        ) { url in
            try await FileCopy.make(url.path(percentEncoded: false), from: source)
        }
        do {
            try await context.dismissGrantingAccess(to: URL(filePath: path, directoryHint: .notDirectory))
        } catch {
            // The picker did not take the copy: remove it.
            _ = try? await onThread { unlink(path) }
            throw error
        }
    }
}

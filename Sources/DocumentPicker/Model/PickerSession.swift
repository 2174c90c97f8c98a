import ControlAPI
import FileCoordination
import Foundation
import UniformTypes

/// One presentation: which provider, what its extension shows, what is waited for, what came of it. Fronts only draw it.
actor PickerSession {
    private let picker: DocumentPicker
    private let front: any DocumentPickerFront
    private var view: PickerView
    private var items: [DocumentMenu.Item] = []

    /// The provider that is shown.
    private struct Current {
        var provider: PickerProvider
        var context: DocumentPickerContext
        /// What the user does, for the extension, which takes its time.
        var actions: AsyncStream<PickerAction>.Continuation
        var task: Task<Void, Never>
        var process: ExtensionProcess?
    }
    private var current: Current?
    /// Counts presentations: what comes late from an earlier one is dropped.
    private var presentation = 0
    private var work: Task<Void, any Error>?
    private var cancelTransfer: (@Sendable () async -> Void)?
    private var result: PickedDocument?
    private var isOver = false
    /// The document has been put where it goes, and only the upload is waited for.
    private var isTracking = false
    private var events: AsyncStream<Event>.Continuation

    private enum Event: Sendable {
        case action(PickerAction)
        case over
    }
    private let stream: AsyncStream<Event>

    init(_ picker: DocumentPicker, _ front: some DocumentPickerFront) {
        self.picker = picker
        self.front = front
        view = PickerView(screen: .menu, mode: picker.menu.mode, menu: [], hasOthers: false)
        (stream, events) = AsyncStream<Event>.makeStream()
    }

    private var mode: DocumentPickerMode { picker.menu.mode }

    // MARK: Life

    func run() async throws -> PickedDocument? {
        try await loadMenu()
        let actions = front.actions()
        let listening = Task { [events] in
            for await action in actions { events.yield(.action(action)) }
            events.yield(.action(.cancel))
        }
        defer { listening.cancel() }
        await begin()
        for await event in stream {
            if case .action(let action) = event { await take(action) }
            if isOver { break }
        }
        await leaveProvider()
        view.screen = result == nil ? .cancelled : .finished
        await front.show(view)
        return result
    }

    private func loadMenu() async throws {
        let (all, _) = await PickerProvider.all()
        items = picker.menu.items(all, .load())
        if items.isEmpty {
            let types = picker.menu.types.map(\.identifier).joined(separator: " or ")
            throw DocumentPickerError(
                "no mounted domain offers to \(mode.rawValue) \(types.isEmpty ? "documents" : types); mount one (hydrant mount)"
            )
        }
        view.menu = items.enumerated().map { index, item in
            switch item {
            case .option(let option):
                PickerView.MenuEntry(
                    id: "option \(index)", title: option.title, image: option.image, detail: nil, isSelectable: true)
            case .provider(let provider):
                PickerView.MenuEntry(
                    id: provider.id, title: provider.title, image: provider.manifest.icon,
                    detail: provider.problem ?? provider.mountPoint, isSelectable: provider.problem == nil)
            }
        }
        view.hasOthers = items.count > 1
    }

    /// With the provider that was used last, or with the only one there is.
    private func begin() async {
        let providers = items.compactMap { item -> PickerProvider? in
            if case .provider(let provider) = item, provider.problem == nil { return provider }
            return nil
        }
        let last = PickerPreferences.load().last(mode)
        let first = items.count == 1 ? providers.first : providers.first { $0.id == last }
        guard let first, !picker.showsMenu else { return await show(.menu) }
        await enter(first)
    }

    private func show(_ screen: PickerView.Screen) async {
        view.screen = screen
        await front.show(view)
    }

    private func end() {
        isOver = true
        events.yield(.over)
    }

    // MARK: What the user does

    private func take(_ action: PickerAction) async {
        switch action {
        case .cancel:
            // What is under way goes on in the daemon; only the waiting ends.
            work?.cancel()
            if !isTracking { end() }
        case .providers:
            guard view.hasOthers || current == nil else { return }
            await leaveProvider()
            await show(.menu)
        case .cancelTransfer:
            // (First here: that it was cancelled there would look like a failure.)
            let transfer = cancelTransfer
            work?.cancel()
            await transfer?()
        case .dismiss:
            guard view.screen == .error else { return }
            view.error = nil
            await show(current == nil ? .menu : .page)
        case .signIn(let password): await signIn(password)
        case .choose(let id) where view.screen == .menu: await chooseFromMenu(id)
        default:
            guard view.screen == .page else { return }
            current?.actions.yield(action)
        }
    }

    private func chooseFromMenu(_ id: String) async {
        guard let index = view.menu.firstIndex(where: { $0.id == id }) else {
            return await fail(DocumentPickerError("“\(id)” is not in the menu"))
        }
        switch items[index] {
        case .option(let option):
            end()
            await option.handler()
        case .provider(let provider):
            guard provider.problem == nil else {
                return await fail(DocumentPickerError("\(provider.title): \(provider.problem!)"))
            }
            await enter(provider)
        }
    }

    private func fail(_ error: any Error) async {
        if isOver { return }
        view.progress = nil
        view.error = "\(error)"
        await show(.error)
    }

    // MARK: A provider

    private func leaveProvider() async {
        presentation += 1
        current?.actions.finish()
        current?.task.cancel()
        current?.process?.end()
        current = nil
        work?.cancel()
        work = nil
        (view.title, view.page, view.progress, view.signIn) = (nil, nil, nil, nil)
    }

    private func enter(_ provider: PickerProvider) async {
        await leaveProvider()
        let number = presentation
        let storage = provider.mountPoint.map { URL(filePath: $0, directoryHint: .isDirectory) }
        let group = provider.manifest.documentGroup.map {
            URL(filePath: UserFolder.data + "/hydrant/groups/" + $0, directoryHint: .isDirectory)
        }
        if let group { try? FileManager.default.createDirectory(at: group, withIntermediateDirectories: true) }
        let context = DocumentPickerContext(
            providerIdentifier: provider.manifest.fileProvider, documentStorageURL: storage, documentGroupURL: group,
            shows: { [weak self] page in await self?.show(page, number) },
            dismisses: { [weak self] url in try await self?.dismiss(url, number) })
        var process: ExtensionProcess?
        let prepare: @Sendable (DocumentPickerMode) async throws -> Void
        let handle: @Sendable (PickerAction) async throws -> Void
        if let program = provider.manifest.program {
            let own = ExtensionProcess(context: context, program: program)
            process = own
            (prepare, handle) = (own.prepareForPresentation, own.handle)
        } else {
            let browser = StandardBrowser(context: context, isDropBox: provider.manifest.isDropBox)
            (prepare, handle) = (browser.prepareForPresentation, browser.handle)
        }
        let (actions, inbox) = AsyncStream<PickerAction>.makeStream()
        view.title = provider.title
        view.page = PickerPage(isLoading: true)
        let mode = mode
        let presentation = DocumentPickerContext.Presentation(
            mode: mode, originalURL: picker.source, validTypes: mode.choosesDocument ? picker.menu.types : nil)
        let task = Task { [weak self] in
            context.prepare(presentation)
            do { try await prepare(mode) } catch { await self?.failed(error, number) }
            for await action in actions {
                do { try await handle(action) } catch { await self?.failed(error, number) }
            }
        }
        current = Current(provider: provider, context: context, actions: inbox, task: task, process: process)
        await show(.page)
    }

    private func show(_ page: PickerPage, _ number: Int) async {
        guard number == presentation, !isOver else { return }
        view.page = page
        // (Behind an error, or a transfer, it is there when that is gone.)
        await show(view.screen == .menu ? .page : view.screen)
    }

    /// The extension could not do what it was asked for.
    private func failed(_ error: any Error, _ number: Int) async {
        guard number == presentation, !isOver else { return }
        view.progress = nil
        if error is CancellationError { return await show(.page) }
        if let client = current?.provider.mountPoint.flatMap({ try? DomainClient($0) }),
            let connection = try? await client.domain().connection, connection.needsSignIn == true
        {
            view.signIn = PickerView.SignIn(domain: current?.provider.title ?? "", reason: connection.reason)
            return await show(.signIn)
        }
        await fail(error)
    }

    private func signIn(_ password: String) async {
        guard view.screen == .signIn, let provider = current?.provider else { return }
        do {
            try await picker.signsIn(provider, password)
            view.signIn = nil
            await enter(provider)
        } catch {
            view.signIn?.reason = "\(error)"
            await show(.signIn)
        }
    }

    // MARK: The end of a presentation

    /// Called by the extension. Returns when the picker has what it needs; the extension is not asked again then.
    private func dismiss(_ url: URL, _ number: Int) async throws {
        guard number == presentation, !isOver, let current else { throw CancellationError() }
        let client = try current.provider.mountPoint.map { try DomainClient($0) }
        let rules = DismissalRules(
            mode: mode, storage: current.context.documentStorageURL, original: picker.source,
            validTypes: picker.menu.types,
            locate: { path in
                guard let client else { throw DocumentPickerError("\(path): there is no file provider") }
                return try await client.locate(path)
            })
        let allowed = try await rules.check(url)
        let task = Task { try await grant(url, allowed, client) }
        work = task
        defer { work = nil }
        let picked: PickedDocument
        do {
            try await task.value
            guard let granted else { throw CancellationError() }
            picked = granted
        } catch {
            if task.isCancelled { throw CancellationError() }
            throw error
        }
        guard number == presentation, !isOver else { return }
        PickerPreferences.used(current.provider.id, for: mode)
        result = picked
        end()
    }

    private var granted: PickedDocument?

    private func grant(_ url: URL, _ allowed: DismissalRules.Allowed, _ client: DomainClient?) async throws {
        switch (mode, allowed) {
        case (.import, .inStorage(let path, let status)):
            if status.state != .downloaded, let client { try await download(path, status, client) }
            try await importCopy(of: url, client)
        case (.import, .local): try await importCopy(of: url, client)
        case (.open, _): try await open(url, isInStore: true)
        case (.export, .inStorage(let path, _)):
            let isInStore = try await track(path, client)
            granted = PickedDocument(mode: mode, url: url, scopedURL: nil, reference: nil, isInStore: isInStore)
        case (.export, .local):
            // Where an extension without a file provider keeps it, it brings it from there.
            granted = PickedDocument(mode: mode, url: url, scopedURL: nil, reference: nil, isInStore: false)
        case (.move, .inStorage(let path, _)):
            try await open(url, isInStore: false)
            // The copy is on this machine's disk, in the domain's care, and was compared with the original.
            if let source = picker.source { try await remove(source) }
            let isInStore = try await track(path, client)
            if let open = granted {
                granted = PickedDocument(
                    mode: mode, url: open.url, scopedURL: open.scopedURL, reference: open.reference,
                    isInStore: isInStore)
            }
        case (.move, .local): throw DocumentPickerError("a document can only be moved to a file provider")
        }
    }

    private func progress(_ title: String, _ done: Int64, _ total: Int64, canCancel: Bool) async {
        guard !isOver else { return }
        view.progress = PickerView.Progress(title: title, done: done, total: total, canCancel: canCancel)
        await show(.progress)
    }

    private func download(_ path: PathBytes, _ status: ItemStatus, _ client: DomainClient) async throws {
        let title = "Downloading \((path.string as NSString).lastPathComponent)"
        await progress(title, 0, status.size - status.bytesDownloaded, canCancel: true)
        cancelTransfer = { await client.cancelFetch(path) }
        defer { cancelTransfer = nil }
        try await client.fetch(path) { [weak self] done, total in
            await self?.progress(title, done, total, canCancel: true)
        }
    }

    private func importCopy(of url: URL, _ client: DomainClient?) async throws {
        let owner = picker.owner
        let copy: URL
        if client != nil, (try? MountedItem.isInDomain(url)) == true {
            copy = try await FileCoordinator().coordinate(readingItemAt: url) { readable in
                try await ImportedCopy.make(
                    of: readable.path(percentEncoded: false), for: owner, keeper: client, progress: { _ in true })
            }
        } else {
            copy = try await ImportedCopy.make(
                of: url.path(percentEncoded: false), for: owner, keeper: client, progress: { _ in true })
        }
        granted = PickedDocument(mode: mode, url: copy, scopedURL: nil, reference: nil, isInStore: true)
    }

    private func open(_ url: URL, isInStore: Bool) async throws {
        let isWritable = current?.provider.manifest.modes.contains(.export) ?? false || mode == .move
        let bookmark = try await Bookmark.make(
            of: url, including: [.name, .size, .type, .contentModificationDate],
            scope: SecurityScope(isWritable ? .write : .read, for: picker.program))
        let scoped = try await bookmark.resolve().scopedURL
        var reference: URL?
        if let container = picker.container {
            let document = ReferenceDocument(name: url.lastPathComponent, bookmark: bookmark)
            reference = try await onThread { try document.write(into: container) }
        }
        granted = PickedDocument(mode: mode, url: url, scopedURL: scoped, reference: reference, isInStore: isInStore)
    }

    private func remove(_ source: URL) async throws {
        let path = source.path(percentEncoded: false)
        let operation: @Sendable () throws -> Void = {
            guard unlink(path) == 0 else {
                throw DocumentPickerError(
                    "\(path): was copied, but cannot be removed: \(String(cString: strerror(errno)))")
            }
        }
        // (In a domain, others may be using it.)
        if (try? MountedItem.isInDomain(source)) == true {
            try await FileCoordinator().coordinate(writingItemAt: source, options: .forDeleting) { _ in
                try await onThread(operation)
            }
        } else {
            try await onThread(operation)
        }
    }

    /// Waits until the store has it. That may take long, or the store is out of reach: closing the picker ends the waiting,
    /// not the upload.
    private func track(_ path: PathBytes, _ client: DomainClient?) async throws -> Bool {
        guard let client else { return false }
        isTracking = true
        defer { isTracking = false }
        let name = (path.string as NSString).lastPathComponent
        let full = client.mountPoint + "/" + path.string
        let sending = Task { await client.send(path) }
        defer { sending.cancel() }
        while !Task.isCancelled {
            let status = try await client.locate(path)
            if !status.modified { return true }
            let transfer = try? await client.domain().transfers?.first { $0.path == full && $0.direction == .upload }
            let why = status.error.map { " (\($0))" } ?? ""
            await progress(
                "Uploading \(name)\(why)", transfer?.bytes ?? 0, transfer?.total ?? status.size, canCancel: false)
            try? await Task.sleep(for: .milliseconds(150))
        }
        return false
    }
}

/// Whether a URL lies in a mounted domain.
enum MountedItem {
    static func isInDomain(_ url: URL) throws -> Bool {
        MountTable.hydrantMount(containing: url.standardizedFileURL.path(percentEncoded: false)) != nil
    }
}

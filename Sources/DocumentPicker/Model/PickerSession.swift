import ControlAPI
import FileCoordination
import Foundation
import Surroundings
import UniformTypes

/// One presentation of the picker: its provider, its extension's page, its transfer, its result. Fronts only draw it.
actor PickerSession {
    private let picker: DocumentPicker
    private let front: any DocumentPickerFront
    private var view: PickerView
    /// The last view that the front was given.
    private var shown: PickerView?
    private var showing = OrderedCalls()
    private var items: [DocumentMenu.Item] = []

    /// The provider that is shown.
    private struct Current {
        var provider: PickerProvider
        var context: DocumentPickerContext
        /// The user's actions for the extension, which may be slow.
        var actions: AsyncStream<PickerAction>.Continuation
        var task: Task<Void, Never>
        var process: ExtensionProcess?
    }
    private var current: Current?
    /// Counts presentations, to drop late news of an earlier one.
    private var presentation = 0
    private var work: Task<Void, any Error>?
    private var cancelTransfer: (@Sendable () async -> Void)?
    private var result: PickedDocument?
    private var isOver = false
    /// The result is final; the picker only waits for the upload, and takes nothing back.
    private var isDone = false
    /// The handler of the chosen option of the program, to be called when the picker is closed.
    private var option: (@Sendable () async -> Void)?
    /// The number of the user's actions that the extension has not finished.
    private var pending = 0
    private var inputHasEnded = false
    private var events: AsyncStream<Event>.Continuation

    private enum Event: Sendable {
        case action(PickerAction)
        /// The front's actions have ended.
        case endOfInput
        case over
    }
    private let stream: AsyncStream<Event>

    init(_ picker: DocumentPicker, _ front: some DocumentPickerFront) {
        self.picker = picker
        self.front = front
        let menu = picker.menu
        view = PickerView(
            screen: .menu, mode: menu.mode, types: menu.types.map(\.identifier), menu: [], hasOthers: false)
        (stream, events) = AsyncStream<Event>.makeStream()
    }

    private var mode: DocumentPickerMode { picker.menu.mode }

    // MARK: Life

    func run() async throws -> PickedDocument? {
        try await loadMenu()
        let actions = front.actions()
        let listening = Task { [events] in
            for await action in actions { events.yield(.action(action)) }
            events.yield(.endOfInput)
        }
        defer { listening.cancel() }
        await begin()
        for await event in stream {
            switch event {
            case .action(let action): await take(action)
            case .endOfInput:
                inputHasEnded = true
                endIfIdle()
            case .over: break
            }
            if isOver { break }
        }
        await leaveProvider()
        await show(result == nil ? .cancelled : .finished)
        await option?()
        return result
    }

    private func loadMenu() async throws {
        let all = await picker.providers()
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

    /// Begins with the provider used last, with the only one, or with the menu.
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
        if screen != .error { view.error = nil }
        if screen == .finished || screen == .cancelled { (view.progress, view.signIn) = (nil, nil) }
        guard view != shown else { return }
        shown = view
        await showing.add { [front, view] in await front.show(view) }.value
    }

    private func end() {
        isOver = true
        events.yield(.over)
    }

    /// Ends the presentation when the actions have ended, and all of them are carried out.
    private func endIfIdle() { if inputHasEnded && pending == 0 && !isOver { end() } }

    private func handled(_ number: Int) {
        guard number == presentation else { return }
        pending -= 1
        endIfIdle()
    }

    // MARK: The user's actions

    private func take(_ action: PickerAction) async {
        switch action {
        case .cancel:
            // Transfers go on in the daemon; only the waiting ends.
            work?.cancel()
            if !isDone { end() }
        case .providers:
            guard view.hasOthers || current == nil, !isDone else { return }
            await leaveProvider()
            await show(.menu)
        case .cancelTransfer:
            // Cancel our wait first; otherwise the daemon's cancellation would look like a failure.
            let transfer = cancelTransfer
            work?.cancel()
            Task { await transfer?() }
        case .dismiss: if view.screen == .error { await dismissError() }
        case .signIn(let password):
            guard view.screen == .signIn else { return await refuse(action) }
            signIn(password)
        default:
            // A user who goes on has read the error.
            if view.screen == .error { await dismissError() }
            if view.screen == .menu, case .choose(let id) = action { return await chooseFromMenu(id) }
            guard view.screen == .page, let current else { return await refuse(action) }
            pending += 1
            current.actions.yield(action)
        }
    }

    private func dismissError() async { await show(current == nil ? .menu : .page) }

    private func refuse(_ action: PickerAction) async {
        let why =
            switch view.screen {
            case .menu: "the menu is shown; choose a place first"
            case .progress: "the picker waits for a transfer; cancel it first"
            case .signIn: "the domain asks for a password; sign in first"
            default: "the picker shows nothing that the action applies to"
            }
        await front.refused(action, why)
    }

    private func chooseFromMenu(_ id: String) async {
        guard let index = view.menu.firstIndex(where: { $0.id == id }) else {
            return await fail(DocumentPickerError("“\(id)” is not in the menu"))
        }
        switch items[index] {
        case .option(let option):
            self.option = option.handler
            end()
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

    /// How long the picker waits for an extension to end.
    private static let patience = Duration.seconds(2)

    private func leaveProvider() async {
        presentation += 1
        let left = current
        current = nil
        work?.cancel()
        work = nil
        pending = 0
        (view.title, view.page, view.progress, view.signIn) = (nil, nil, nil, nil)
        guard let left else { return }
        left.actions.finish()
        left.task.cancel()
        left.process?.end()
        // Give the extension time to remove a copy that it is making. No task group: it would wait for both tasks, and
        // an extension that lists a folder may hang as long as the store does.
        let (ends, signal) = AsyncStream<Void>.makeStream()
        Task {
            await left.task.value
            signal.finish()
        }
        Task {
            try? await Task.sleep(for: Self.patience)
            signal.finish()
        }
        for await _ in ends {}
    }

    private func enter(_ provider: PickerProvider) async {
        await leaveProvider()
        let number = presentation
        let storage = provider.mountPoint.map { URL(filePath: $0, directoryHint: .isDirectory) }
        let group = provider.manifest.documentGroup.flatMap { BaseDirectory.group($0) }.map {
            URL(filePath: $0, directoryHint: .isDirectory)
        }
        if let group { try? FileManager.default.createDirectory(at: group, withIntermediateDirectories: true) }
        let context = DocumentPickerContext(
            providerIdentifier: provider.manifest.fileProvider, documentStorageURL: storage, documentGroupURL: group,
            shows: { [weak self] page in await self?.show(page, number) },
            dismisses: { [weak self] url in try await self?.dismiss(url, number) },
            fails: { [weak self] error in await self?.failed(error, number) })
        var process: ExtensionProcess?
        let prepare: @Sendable (DocumentPickerMode) async throws -> Void
        let handle: @Sendable (PickerAction) async throws -> Void
        if let program = provider.manifest.program {
            let own = ExtensionProcess(context: context, program: program)
            process = own
            (prepare, handle) = (own.prepareForPresentation, own.handle)
        } else {
            let browser = StandardBrowser(context: context, of: provider)
            (prepare, handle) = (browser.prepareForPresentation, browser.handle)
        }
        let (actions, inbox) = AsyncStream<PickerAction>.makeStream()
        view.title = provider.title
        view.page = PickerPage(isLoading: true)
        pending = 1
        let mode = mode
        let presentation = DocumentPickerContext.Presentation(
            mode: mode, originalURL: picker.source, validTypes: mode.choosesDocument ? picker.menu.types : nil)
        let task = Task { [weak self] in
            context.prepare(presentation)
            do { try await prepare(mode) } catch { await self?.failed(error, number) }
            await self?.handled(number)
            for await action in actions {
                if Task.isCancelled { break }
                do { try await handle(action) } catch { await self?.failed(error, number) }
                await self?.handled(number)
            }
        }
        current = Current(provider: provider, context: context, actions: inbox, task: task, process: process)
        await show(.page)
    }

    private func show(_ page: PickerPage, _ number: Int) async {
        guard number == presentation, !isOver else { return }
        view.page = page
        // An error or a transfer stays in front of the page.
        await show(view.screen == .menu ? .page : view.screen)
    }

    /// Shows an error of the extension, or asks for a password if the domain needs one.
    private func failed(_ error: any Error, _ number: Int) async {
        guard number == presentation, !isOver else { return }
        view.progress = nil
        if error is CancellationError { return await show(.page) }
        let provider = current?.provider
        let connection = try? await provider?.mountPoint.map({ try DomainClient($0) })?.domain().connection
        guard number == presentation, !isOver else { return }
        if let connection, connection.needsSignIn == true {
            view.signIn = PickerView.SignIn(domain: provider?.title ?? "", reason: connection.reason)
            return await show(.signIn)
        }
        await fail(error)
    }

    /// Signs in, in a task of its own, so that the picker can be closed while the server hangs.
    private func signIn(_ password: String) {
        guard view.screen == .signIn, let provider = current?.provider else { return }
        let number = presentation
        pending += 1
        Task {
            var failure: (any Error)?
            do { try await picker.signsIn(provider, password) } catch { failure = error }
            await signedIn(provider, number, failure)
        }
    }

    private func signedIn(_ provider: PickerProvider, _ number: Int, _ failure: (any Error)?) async {
        guard number == presentation, !isOver else { return }
        if let failure {
            view.signIn?.reason = "\(failure)"
            // Show the reason even if it is the same as before, because it answers this try.
            shown = nil
            await show(.signIn)
        } else {
            view.signIn = nil
            await enter(provider)
        }
        handled(number)
    }

    // MARK: The end of a presentation

    /// Called by the extension. Returns when the picker has what it needs; the extension is not asked again then.
    private func dismiss(_ url: URL, _ number: Int) async throws {
        guard let current else { throw CancellationError() }
        try requireShown(number)
        let client = try current.provider.mountPoint.map { try DomainClient($0) }
        let rules = DismissalRules(
            mode: mode, storage: current.context.documentStorageURL, original: picker.source,
            validTypes: picker.menu.types,
            locate: { path in
                guard let client else { throw DocumentPickerError("\(path): there is no file provider") }
                return try await client.locate(path)
            })
        let stamp = try picker.source.map { try FileStamp($0.path(percentEncoded: false), follows: true) }
        let allowed = try await rules.check(url)
        // The check may have taken long.
        try requireShown(number)
        let grant = Grant(url: url, allowed: allowed, client: client, provider: current.provider, source: stamp)
        let task = Task { try await carryOut(grant, number) }
        work = task
        do { try await task.value } catch {
            if number == presentation { work = nil }
            if isDone { return }
            if task.isCancelled { throw CancellationError() }
            throw error
        }
        guard number == presentation, !isOver else { return }
        work = nil
        PickerPreferences.used(current.provider.id, for: mode)
        end()
    }

    private func requireShown(_ number: Int) throws {
        guard number == presentation, !isOver else { throw CancellationError() }
    }

    private struct Grant: Sendable {
        var url: URL
        var allowed: DismissalRules.Allowed
        var client: DomainClient?
        var provider: PickerProvider
        /// The state of the source before it was compared with its copy.
        var source: FileStamp?
    }

    private func carryOut(_ grant: Grant, _ number: Int) async throws {
        let url = grant.url
        switch (mode, grant.allowed) {
        case (.import, let allowed):
            if case .inStorage(let path, let status) = allowed, status.state != .downloaded, let client = grant.client {
                try await download(path, status, client)
            }
            let copy = try await importCopy(of: url)
            do { try requireShown(number) } catch {
                ImportedCopy.remove(copy)
                throw error
            }
            result = picked(copy, isInStore: true)
        case (.open, _):
            let opened = try await open(url, grant)
            do { try requireShown(number) } catch {
                await takeBack(opened, grant.client)
                throw error
            }
            result = opened.document
        case (.export, .local):
            // An extension without a file provider sends the copy to its store itself.
            result = picked(url, isInStore: false)
        case (.export, .inStorage):
            let bookmark = try await Bookmark.make(of: url)
            try requireShown(number)
            isDone = true
            result = picked(url, isInStore: false)
            await track(bookmark, grant)
        case (.move, .inStorage):
            let opened = try await open(url, grant)
            do {
                try requireShown(number)
                if let source = picker.source { try await remove(source, grant.source, number) }
            } catch {
                isDone = false
                await takeBack(opened, grant.client)
                throw error
            }
            isDone = true
            result = opened.document
            await track(opened.bookmark, grant)
            await renew(opened)
        case (.move, .local): throw DocumentPickerError("a document can only be moved to a file provider")
        }
    }

    private func picked(_ url: URL, isInStore: Bool) -> PickedDocument {
        PickedDocument(mode: mode, url: url, scopedURL: nil, reference: nil, isInStore: isInStore)
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

    private func importCopy(of url: URL) async throws -> URL {
        let owner = picker.owner
        guard Self.isInDomain(url) else {
            return try await ImportedCopy.make(of: url.path(percentEncoded: false), for: owner)
        }
        return try await coordinator.coordinate(readingItemAt: url) { readable in
            try await ImportedCopy.make(of: readable.path(percentEncoded: false), for: owner)
        }
    }

    /// The result of *open* and *move*.
    private struct Opened: Sendable {
        var document: PickedDocument
        /// Has a right if the program gets one.
        var bookmark: Bookmark
        /// Whether the right and the reference document existed before; then they stay, even if this presentation
        /// fails.
        var isKnown: Bool
    }

    private func open(_ url: URL, _ grant: Grant) async throws -> Opened {
        let isWritable = !grant.provider.isReadOnly
        if let container = picker.container, let client = grant.client {
            let finder = ReferenceFinder(
                container: container, client: client,
                right: .init(program: picker.program, isWritable: isWritable, until: picker.until))
            if let found = await finder.find(url) { return try await open(url, found) }
        }
        let scope = SecurityScope(isWritable ? .write : .read, for: picker.program, until: picker.until)
        let bookmark = try await Bookmark.make(
            of: url, including: [.name, .size, .type, .contentModificationDate],
            scope: picker.givesRight ? scope : nil)
        var opened = try await opened(url, bookmark, nil)
        guard let container = picker.container else { return opened }
        let document = ReferenceDocument(name: url.lastPathComponent, bookmark: bookmark)
        do {
            opened.document.reference = try await onThread { try document.write(into: container) }
            return opened
        } catch {
            await takeBack(opened, grant.client)
            throw error
        }
    }

    /// Opens a document that has a reference in the container with the same right: renews and uses that reference.
    private func open(_ url: URL, _ reference: ReferenceFinder.Found) async throws -> Opened {
        let bookmark = try await reference.bookmark.renewed()
        let document = ReferenceDocument(name: url.lastPathComponent, bookmark: bookmark)
        try await onThread { try document.replace(at: reference.url) }
        return try await opened(url, bookmark, reference.url)
    }

    private func opened(_ url: URL, _ bookmark: Bookmark, _ reference: URL?) async throws -> Opened {
        let document = PickedDocument(
            mode: mode, url: url, scopedURL: try await bookmark.resolve().scopedURL, reference: reference,
            isInStore: mode == .open)
        return Opened(document: document, bookmark: bookmark, isKnown: reference != nil)
    }

    /// Renews the bookmark when the store has the document, perhaps under another identifier and with another date, so
    /// that it does not begin stale. If that fails, the earlier bookmark will do.
    private func renew(_ opened: Opened) async {
        guard var document = result, document.isInStore, let bookmark = try? await opened.bookmark.renewed(),
            let scoped = try? await bookmark.resolve().scopedURL
        else { return }
        if let reference = document.reference {
            let renewed = ReferenceDocument(name: document.url.lastPathComponent, bookmark: bookmark)
            guard (try? await onThread { try renewed.replace(at: reference) }) != nil else { return }
        }
        document.scopedURL = scoped
        result = document
    }

    /// Revokes the right, and removes the reference, of a document that the program does not get after all.
    private func takeBack(_ opened: Opened, _ client: DomainClient?) async {
        if opened.isKnown { return }
        if let reference = opened.document.reference { unlink(reference.path(percentEncoded: false)) }
        await client?.revoke(opened.bookmark)
    }

    /// - Parameter stamp: the state of the source before it was compared with its copy.
    private func remove(_ source: URL, _ stamp: FileStamp?, _ number: Int) async throws {
        let path = source.path(percentEncoded: false)
        let operation: @Sendable () throws -> Void = {
            guard try stamp == nil || FileStamp(path, follows: true) == stamp else {
                throw DocumentPickerError("\(path): changed while it was copied, and stays in its place; move it again")
            }
            guard unlink(path) == 0 else {
                throw DocumentPickerError(
                    "\(path): was copied, but cannot be removed: \(String(cString: strerror(errno)))")
            }
        }
        // Only in a domain can others coordinate their use of the source. The unlink runs in a task of its own, because
        // after the commit it must not be cancelled.
        guard Self.isInDomain(source) else {
            try commit(number)
            return try await Task { try await onThread(operation) }.value
        }
        try await coordinator.coordinate(writingItemAt: source, options: .forDeleting) { @Sendable _ in
            try await self.commit(number)
            try await Task { try await onThread(operation) }.value
        }
    }

    /// The point of no return: until here the user can close the picker, and everything is as before.
    private func commit(_ number: Int) throws {
        try requireShown(number)
        try Task.checkCancellation()
        isDone = true
    }

    /// Coordinates for the program that the document is for.
    private var coordinator: FileCoordinator {
        FileCoordinator(onBehalfOf: FileCoordinator.Asker(process: picker.owner))
    }

    /// Waits until the store has the document, through renames. That may take long, or the store may be out of reach;
    /// closing the picker ends the waiting, not the upload.
    private func track(_ bookmark: Bookmark, _ grant: Grant) async {
        guard let client = grant.client, case .inStorage(let path, _) = grant.allowed else { return }
        let sending = Task { await client.send(path) }
        defer { sending.cancel() }
        while !Task.isCancelled {
            guard let url = try? await bookmark.resolve().url,
                let place = DismissalRules.relative(
                    url.path(percentEncoded: false), in: URL(filePath: client.mountPoint, directoryHint: .isDirectory)),
                let status = try? await client.status([place]).first
            else { break }
            let isInStore = !status.modified && status.identifier != nil && !status.excluded
            if let known = result {
                result = PickedDocument(
                    mode: mode, url: url, scopedURL: known.scopedURL, reference: known.reference, isInStore: isInStore)
            }
            if isInStore { return }
            let full = url.path(percentEncoded: false)
            let transfer = try? await client.domain().transfers?.first { $0.path == full && $0.direction == .upload }
            let why = status.error.map { " (\($0))" } ?? ""
            await progress(
                "Uploading \(url.lastPathComponent)\(why)", transfer?.bytes ?? 0, transfer?.total ?? status.size,
                canCancel: false)
            try? await Task.sleep(for: .milliseconds(150))
        }
    }

    private static func isInDomain(_ url: URL) -> Bool {
        MountTable.hydrantMount(containing: url.standardizedFileURL.path(percentEncoded: false)) != nil
    }
}

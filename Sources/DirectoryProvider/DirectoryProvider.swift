public import FileProvider
public import Logging
import NIOPosix

/// A directory of real documents as the store.
///
/// Others may work in the directory at the same time, with any program: what they write is never
/// overwritten unseen. Links in it are shown and never followed; sockets, pipes and devices are left out.
///
/// Who may write to a file may also write the attribute by which Hydrant knows a replaced document again; which file is
/// believed, and how a change is noticed that keeps size and date, ``Sightings`` says.
///
/// What it asks of the file system: birth times and user attributes (`user.hydrant.identity`), or else
/// identifiers are paths; RENAME_EXCHANGE, or else a document that another program replaces in the very
/// moment of an upload, between the last check and the rename, is lost.
///
/// A document with several names (hard links) is replaced under the one name that was changed; the
/// others keep the old contents, as with every program that saves by renaming.
///
/// Extended attributes in `user.` (but our own) are those of the items, of documents and folders, where the
/// file system keeps any; of the topmost folder they are neither told nor set. One that it does not take
/// (ENOSPC, E2BIG, EDQUOT, EPERM) is logged and left out, never a reason to refuse contents or a mode; ext4 has
/// room for some 4 KB of them in a file. What is beyond ``ExtendedAttribute/mostBytes`` is left out of the item, and stays as it
/// is. One whose name is not UTF-8 is not told, and a replaced document
/// loses it.
public final class DirectoryProvider: ChangeSignaling, MetadataUpdating, Invalidatable {
    public let providerIdentifier = "hydrant.directory"
    let store: Store
    private let threads: NIOThreadPool
    private let search: Search
    let listings = Listings()

    /// - Parameter root: the absolute path of the directory; links in it are followed here, once.
    public convenience init(root: String, logger: Logger) throws(FileProviderError) {
        try self.init(root: root, logger: logger, seams: Seams())
    }

    init(root: String, logger: Logger, seams: Seams) throws(FileProviderError) {
        let store = try Store(root: root, logger: logger, seams: seams)
        let threads = NIOThreadPool(numberOfThreads: 8)
        threads.start()
        self.store = store
        self.threads = threads
        search = Search { await threads.run { store.walk() } ?? FileProviderError(.cancelled, "unmounted") }
        threads.submit { _ in
            if let names = try? store.root.names() { store.sweep(store.root, names) }
        }
    }

    deinit {
        store.stopWatchers()
        threads.shutdownGracefully { _ in }
    }

    public func beginServing(_ domain: any FileProviderDomain) async throws(FileProviderError) {
        store.sightings.serve(domain)
    }

    public func invalidate() async {
        store.stopWatchers()
        store.sightings.serve(nil)
        try? await threads.shutdownGracefully()
    }

    // MARK: The way to the store

    /// Runs `body` on a thread that may block. Once begun it is never cut short, and it begins even when the
    /// task is cancelled: so a cleanup always happens.
    func blocking<Result: Sendable>(
        _ body: @escaping @Sendable () throws(FileProviderError) -> Result
    ) async throws(FileProviderError) -> Result {
        let outcome = await threads.run { () -> Swift.Result<Result, FileProviderError> in
            do throws(FileProviderError) { return .success(try body()) } catch { return .failure(error) }
        }
        guard let outcome else { throw FileProviderError(.cancelled, "the domain is being unmounted") }
        return try outcome.get()
    }

    func checkCancellation() throws(FileProviderError) {
        if Task.isCancelled { throw FileProviderError(.cancelled, "cancelled") }
    }

    /// Runs `body` with the item, wherever it is by now.
    ///
    /// - Throws: ``FileProviderError/Code/noSuchItem`` only when all of the store was seen without it.
    func withEntry<Result: Sendable>(
        _ identifier: ItemIdentifier,
        _ body: @escaping @Sendable (Entry) throws(FileProviderError) -> Result
    ) async throws(FileProviderError) -> Result {
        try await searching(for: identifier) { store throws(FileProviderError) in
            try store.find(identifier).map(body)
        }
    }

    func withFolder<Result: Sendable>(
        _ identifier: ItemIdentifier,
        _ body: @escaping @Sendable (Folder) throws(FileProviderError) -> Result
    ) async throws(FileProviderError) -> Result {
        try await searching(for: identifier) { store throws(FileProviderError) in
            try store.findFolder(identifier).map(body)
        }
    }

    private func searching<Result: Sendable>(
        for identifier: ItemIdentifier,
        _ attempt: @escaping @Sendable (Store) throws(FileProviderError) -> Result?
    ) async throws(FileProviderError) -> Result {
        try checkCancellation()
        let checked = { @Sendable [store] () throws(FileProviderError) -> Result? in
            try store.checkRoot()
            return try attempt(store)
        }
        if let result = try await blocking(checked) { return result }
        // Of a path, the first look has said it all.
        let failure = Identity.components(of: identifier) == nil ? await search.afresh() : nil
        if let result = try await blocking(checked) { return result }
        if let failure {
            throw FileProviderError(
                .cannotSynchronize, "\(identifier) was not found, but not everything could be seen",
                cause: failure)
        }
        store.index.forget(identifier)
        store.sightings.forget(identifier)
        throw FileProviderError(.noSuchItem, "\(store.rootPath): no item \(identifier)")
    }

    // MARK: Looking

    public func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item {
        if identifier == .rootContainer {
            return try await blocking { [store] () throws(FileProviderError) in
                try store.checkRoot()
                return try store.rootItem()
            }
        }
        return try await withEntry(identifier) { $0.item }
    }

    public func enumerateItems(
        in folder: ItemIdentifier, startingAt page: Page?
    ) async throws(FileProviderError) -> ItemPage {
        try await withFolder(folder) { [store, listings] folder throws(FileProviderError) in
            let page = try listings.page(of: folder, startingAt: page, in: store)
            // A folder that lost its store in the middle looks empty; nobody may take that for deletions.
            try store.checkRoot()
            return page
        }
    }
}

extension NIOThreadPool {
    /// Nil when the pool is shut down. (`runIfActive` would drop work of a cancelled task, cleanups too.)
    fileprivate func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result? {
        await withCheckedContinuation { continuation in
            submit { state in continuation.resume(returning: state == .active ? body() : nil) }
        }
    }
}

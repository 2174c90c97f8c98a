public import FileProvider
public import Logging
import NIOPosix

/// A directory of real documents as the store.
///
/// Other programs may work in the directory at the same time: their changes are never overwritten unseen. Links in it
/// are shown and never followed; sockets, pipes and devices are left out.
///
/// A user who may write to a file may also write the attribute by which Hydrant recognises a replaced document;
/// ``Sightings`` says which files are believed, and how a change that keeps size and date is noticed.
///
/// Requirements on the file system: birth times and user attributes (`user.hydrant.identity`), or else identifiers are
/// paths; RENAME_EXCHANGE, or else a document is lost that another program replaces in the very moment of an upload,
/// between the last check and the rename.
///
/// A document with several names (hard links) is replaced under the changed name; the others keep the old contents, as
/// with every program that saves by renaming.
///
/// The items of documents and folders have their extended attributes in `user.` (except our own), where the file system
/// keeps any; those of the topmost folder are neither shown nor set. An attribute that the file system refuses (ENOSPC,
/// E2BIG, EDQUOT, EPERM) is logged and left out, and is never a reason to refuse contents or a mode; ext4 has room for
/// some 4 KB of them in a file. Attributes beyond ``ExtendedAttribute/mostBytes`` are left out of the item, and stay as
/// they are. An attribute whose name is not UTF-8 is not shown, and a replaced document loses it.
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

    // MARK: Access to the store

    /// Runs `body` on a thread that may block. It is never interrupted, and begins even when the task is cancelled: so
    /// cleanups always run.
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

    /// Runs `body` with the item at its present place.
    ///
    /// - Throws: ``FileProviderError/Code/noSuchItem`` only when the whole store was searched without finding it.
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
        // For a path, the first look is enough.
        let failure = Identity.components(of: identifier) == nil ? await search.afresh() : nil
        if let result = try await blocking(checked) { return result }
        if let failure {
            throw FileProviderError(
                .cannotSynchronize, "\(identifier) was not found, but parts of the store could not be read",
                cause: failure)
        }
        store.index.forget(identifier)
        store.sightings.forget(identifier)
        throw FileProviderError(.noSuchItem, "\(store.rootPath): no item \(identifier)")
    }

    // MARK: Hooks that do not change the store

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
            // A folder whose store vanished in mid-listing looks empty, which must not count as deletions.
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

package import FileProvider
package import Foundation
package import Logging
import Waiting

/// The one way to the store: the provider's hooks are called here, and nowhere else.
///
/// Each call tells the event log how it went (``SyncEvent``), and ``StoreConnection`` whether the store answers. Calls
/// that no user caused (the free space, a probe whether the store is back) are no events. An answer that is wrong for
/// any use is refused here. The provider's optional protocols are looked up here, so that no other part casts it.
///
/// Parameters `path`: for the event, evaluated when the call is over.
package final class StoreClient: Sendable {
    private let provider: any FileProviderExtension
    private let events: EventLog
    let workers: Workers
    private let clock: any EngineClock
    private let logger: Logger
    private let retries: ReadRetryPolicy
    package let connection = StoreConnection()
    private let answers = Callback<Void>()
    private let losses = Callback<Void>()
    private let topmost: TopmostFolder

    let abilities: ProviderAbilities

    package init(
        _ provider: any FileProviderExtension, events: EventLog, workers: Workers,
        clock: any EngineClock = MachineClock(), logger: Logger,
        retries: ReadRetryPolicy = ReadRetryPolicy()
    ) {
        self.retries = retries
        topmost = TopmostFolder(provider, workers: workers)
        self.provider = provider
        self.events = events
        self.workers = workers
        self.clock = clock
        self.logger = logger
        abilities = ProviderAbilities(of: provider)
    }

    // MARK: Kind and abilities

    package var providerIdentifier: String { provider.providerIdentifier }
    package var documentGroup: String? { provider.documentGroup }
    /// The provider signals its changes, always.
    package var signalsChanges: Bool { abilities.signals != nil && abilities.connection == nil }
    /// The provider signals its changes while it has a connection to the store for that.
    var mayConnectSignals: Bool { abilities.connection != nil }
    /// That connection is up.
    var hasConnectedSignals: Bool { abilities.connection?.isSignaling == true }
    /// The provider tells what changed since an anchor.
    package var enumeratesChanges: Bool { abilities.changes != nil }
    package var updatesMetadata: Bool { abilities.metadata != nil }
    package var copiesItems: Bool { abilities.copies != nil }
    package var keepsVersions: Bool { abilities.keptVersions?.keepsVersions == true }
    package var hasTrash: Bool { abilities.trash?.hasTrash == true }
    package var keepsFavorites: Bool { abilities.favorites?.keepsFavorites == true }
    package var makesThumbnails: Bool { abilities.thumbnails != nil }
    package var keepsThumbnails: Bool { abilities.keptThumbnails?.keepsThumbnails == true }
    package var reportsQuota: Bool { abilities.space != nil }
    package var hasAccounts: Bool { abilities.accounts != nil }
    package var canSearch: Bool { abilities.searching?.canSearch == true }
    /// 0: the provider does not say.
    package var uploadsAtOnce: Int { (provider as? any ParallelUploading)?.uploadsAtOnce ?? 0 }

    // MARK: Reachability

    /// Called when the store answers again. Set once; must not block.
    func onAnswer(_ body: @escaping @Sendable () -> Void) { answers.set(body) }

    /// Called when the store stops answering. Set once; must not block.
    func onLoss(_ body: @escaping @Sendable () -> Void) { losses.set(body) }

    /// Records that a hook was called and has answered.
    private func report(
        _ hook: SyncEvent.Kind, _ identifier: ItemIdentifier?, at path: String?, bytes: Int64?,
        since started: ContinuousClock.Instant, process: CausingProcess? = nil, _ error: FileProviderError?
    ) {
        if let error {
            if StoreConnection.isAway(error.code) { isAway(error, asked: started) }
        } else if hook != .stopProvidingItem {
            answered()
        }
        events.add(
            SyncEvent(
                hook, path: path, identifier: identifier, bytes: bytes, duration: started.duration(to: .now),
                process: process, code: error?.code.description, message: error?.message))
    }

    private func isAway(_ error: FileProviderError, asked: ContinuousClock.Instant) {
        guard connection.failed(error, asked: asked) else { return }
        logger.warning("the store cannot be used", metadata: ["error": "\(error.message)"])
        events.add(SyncEvent(.offline, code: error.code.description, message: error.message))
        losses()
    }

    private func answered() {
        guard connection.answered() else { return }
        logger.info("the store answers again")
        events.add(SyncEvent(.online))
        answers()
    }

    func reporting<Answer>(
        _ hook: SyncEvent.Kind, _ identifier: ItemIdentifier?, at path: () -> String?, bytes: Int64? = nil,
        _ call: () async throws(FileProviderError) -> Answer
    ) async throws(FileProviderError) -> Answer {
        let started = ContinuousClock.now
        // (By the path, which people and the tests' log of hooks know; without a path, by the identifier.)
        logger.debug(
            "\(hook.rawValue)",
            metadata: path().map { ["item": "\($0)"] } ?? identifier.map { ["identifier": "\($0)"] } ?? [:])
        do {
            let answer = try await call()
            report(hook, identifier, at: path(), bytes: bytes, since: started, nil)
            return answer
        } catch {
            let error = await topmost.verified(error)
            report(hook, identifier, at: path(), bytes: nil, since: started, error)
            throw error
        }
    }

    /// Asks the store something to find out whether it answers. A further failure is no event.
    func probe() async {
        let asked = ContinuousClock.now
        do throws(FileProviderError) {
            _ = try await topmost.item()
        } catch {
            if error.code == .cancelled { return }
            if StoreConnection.isAway(error.code) { return connection.isNotBack(asked: asked) }
        }
        answered()
    }

    // MARK: Reading

    /// The topmost folder. No event.
    func root() async throws(FileProviderError) -> Item {
        try await topmost.item()
    }

    func placeholder(
        for identifier: ItemIdentifier, at path: @autoclosure () -> String?
    ) async throws(FileProviderError) -> Item {
        try await reporting(.providePlaceholder, identifier, at: path) { () async throws(FileProviderError) in
            try await provider.providePlaceholder(for: identifier)
        }
    }

    /// For comparisons with the store's item. No event.
    package func quietPlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item {
        do { return try await provider.providePlaceholder(for: identifier) } catch {
            throw await topmost.verified(error)
        }
    }

    func items(
        in folder: ItemIdentifier, startingAt page: Page?, at path: @autoclosure () -> String?
    ) async throws(FileProviderError) -> ItemPage {
        try await reporting(.enumerateItems, folder, at: path) { () async throws(FileProviderError) in
            try await provider.enumerateItems(in: folder, startingAt: page)
        }
    }

    /// The limit in ``SyncAnchor/bytes``.
    private static let longestAnchor = 64 << 10

    func changes(since anchor: SyncAnchor) async throws(FileProviderError) -> ChangePage {
        guard let changes = abilities.changes else { throw Self.cannot("list its changes") }
        let page = try await reporting(.enumerateChanges, nil, at: { nil }) { () async throws(FileProviderError) in
            try await changes.enumerateChanges(from: anchor)
        }
        try check(page.anchor)
        return page
    }

    func currentAnchor() async throws(FileProviderError) -> SyncAnchor {
        guard let changes = abilities.changes else { throw Self.cannot("list its changes") }
        let anchor = try await changes.currentSyncAnchor()
        try check(anchor)
        return anchor
    }

    private func check(_ anchor: SyncAnchor) throws(FileProviderError) {
        guard anchor.bytes.count > Self.longestAnchor else { return }
        throw FileProviderError(
            .cannotSynchronize,
            "the provider's sync anchor has too many bytes (\(anchor.bytes.count)); report it to the provider's author")
    }

    /// Nil: the provider signals nothing.
    func changeSignals() -> AsyncStream<ChangeSignal>? { abilities.signals?.changeSignals() }

    /// Nil: the provider does not say when its connection for signals comes up.
    func signalOpenings() -> AsyncStream<Void>? { abilities.connection?.signalOpenings() }

    /// The version of the whole tree; nil: the store has none.
    func version() async throws(FileProviderError) -> String? {
        try await abilities.versions?.folderVersion(of: .rootContainer)
    }

    /// How full the store is. No event.
    ///
    /// - Returns: nil: the store does not say, or its answer is impossible.
    func quota() async throws(FileProviderError) -> StoreQuota? {
        guard let quota = try await abilities.space?.quota() else { return nil }
        guard quota.used >= 0, quota.total ?? 0 >= 0 else {
            logger.warning(
                "the provider's quota is impossible",
                metadata: ["used": "\(quota.used)", "total": "\(quota.total.map { "\($0)" } ?? "none")"])
            return nil
        }
        return quota
    }

    /// Asks the store's own search, if there is one.
    ///
    /// - Parameter seconds: the longest wait.
    /// - Returns: the findings that may be shown; nil: the store was not asked, or has not answered.
    package func search(_ search: StoreSearch, within seconds: Double) async -> StoreFindings? {
        guard let searching = abilities.searching, searching.canSearch, connection.failure == nil else { return nil }
        let answer = await FirstAnswer.of(within: .seconds(seconds), on: workers) { [logger] () -> StoreFindings? in
            do { return try await searching.search(search) } catch {
                logger.debug("the store's own search failed", metadata: ["error": "\(error)"])
                return nil
            }
        }
        guard var answer = answer ?? nil else { return nil }
        let findings = answer.findings.prefix(search.limit).filter { $0.isPossible }
        answer.isComplete = answer.isComplete && answer.findings.count <= search.limit
        answer.findings = findings
        return answer
    }

    // MARK: Contents

    /// Reads contents, with retries by ``ReadRetryPolicy``; one event for all attempts.
    ///
    /// The last piece is passed on when the hook has ended well: a provider may find out at its end that what it has
    /// sent is not what was asked for. Then everything is forgotten and read again; after a broken connection, only the
    /// last piece.
    ///
    /// - Parameters:
    ///   - process: the process whose read caused it.
    ///   - forget: makes all bytes of the range that came missing again; nil: the sink cannot do that, and the read fails.
    ///   - ended: called at the end, before any waiter learns of it, with the error if it failed; returns the number of
    ///     bytes that came.
    package func provide(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: some ContentSink,
        at path: String, for process: CausingProcess? = nil, forget: (() -> Void)?,
        _ ended: (FileProviderError?) -> Int64?
    ) async throws(FileProviderError) {
        let started = ContinuousClock.now
        func over(_ error: FileProviderError?) {
            report(
                .startProvidingItem, identifier, at: path, bytes: ended(error), since: started, process: process, error)
        }
        let progress = ProgressSink(sink, range)
        var failures = ReadRetryPolicy.Failures()
        /// Of reads that failed when all bytes had come: those that came again are no progress.
        var failuresOfAll = ReadRetryPolicy.Failures()
        while true {
            let rest = progress.reached..<range.upperBound
            logger.debug("startProvidingItem", metadata: ["item": "\(path)", "range": "\(rest)"])
            var failure: FileProviderError
            do {
                try await provider.startProvidingItem(identifier, version: version, range: rest, into: progress)
                try await progress.finish()
                return over(nil)
            } catch {
                failure = error
            }
            let isOfAll = progress.isWhole && (failure.code == .cannotSynchronize || failure.code == .busy)
            progress.dropLast()
            if isOfAll {
                forget?()
                progress.restart()
            } else if progress.reached > rest.lowerBound {
                failures = ReadRetryPolicy.Failures()
            }
            let isAway = connection.failure != nil
            let pause =
                isOfAll
                ? retries.pause(after: failure, &failuresOfAll, isAway: isAway, at: clock.now)
                : retries.pause(after: failure, &failures, isAway: isAway, at: clock.now)
            if let pause, !isOfAll || forget != nil {
                logger.debug("a read is tried again", metadata: ["item": "\(path)", "error": "\(failure)"])
                if (try? await clock.sleep(for: .seconds(pause))) != nil { continue }
                failure = FileProviderError(
                    .cancelled, "\(path): the download was cancelled: no program waits for it", cause: failure)
            }
            failure = await topmost.verified(failure)
            over(failure)
            throw failure
        }
    }

    /// - Parameter limit: the longest wait; then the answer is nil.
    func stopProviding(
        _ identifier: ItemIdentifier, at path: @autoclosure () -> String?, within limit: Duration? = nil
    ) async -> ContentDisposition? {
        let started = ContinuousClock.now
        logger.debug("stopProvidingItem", metadata: ["identifier": "\(identifier)"])
        var answer: ContentDisposition?
        if let limit {
            answer = await FirstAnswer.of(within: limit, on: workers) { [provider] in
                await provider.stopProvidingItem(identifier)
            }
        } else {
            answer = await provider.stopProvidingItem(identifier)
        }
        report(.stopProvidingItem, identifier, at: path(), bytes: nil, since: started, nil)
        return answer
    }

    // MARK: Changing

    func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata, baseVersion: ItemVersion,
        at path: @autoclosure () -> String?
    ) async throws(FileProviderError) -> Item {
        try await reporting(.itemChanged, identifier, at: path, bytes: contents.size) {
            () async throws(FileProviderError) in
            try await provider.itemChanged(
                identifier, contents: contents, metadata: metadata, baseVersion: baseVersion)
        }
    }

    func createItem(
        _ template: ItemTemplate, contents: (any ContentSource)?, at path: String
    ) async throws(FileProviderError) -> Item {
        // (A new item has no identifier before.)
        let started = ContinuousClock.now
        logger.debug("createItem", metadata: ["item": "\(path)"])
        do {
            let made = try await provider.createItem(template, contents: contents)
            report(.createItem, made.identifier, at: path, bytes: contents?.size, since: started, nil)
            return made
        } catch {
            let error = await topmost.verified(error)
            report(.createItem, nil, at: path, bytes: nil, since: started, error)
            throw error
        }
    }

    /// The store makes the copy. Only where it ``copiesItems``.
    func copyItem(
        _ original: ItemIdentifier, version: ContentVersion, as template: ItemTemplate, bytes: Int64,
        at path: @autoclosure () -> String?
    ) async throws(FileProviderError) -> Item {
        guard let copies = abilities.copies else { throw Self.cannot("copy documents") }
        return try await reporting(.copyItem, original, at: path, bytes: bytes) { () async throws(FileProviderError) in
            try await copies.copyItem(original, version: version, as: template)
        }
    }

    func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as name: Filename, baseVersion: ItemVersion,
        at path: @autoclosure () -> String?
    ) async throws(FileProviderError) -> Item {
        try await reporting(.moveItem, identifier, at: path) { () async throws(FileProviderError) in
            try await provider.moveItem(identifier, to: folder, as: name, baseVersion: baseVersion)
        }
    }

    /// Only where the store ``updatesMetadata``; else the error is `unsupported`.
    func updateMetadata(
        _ identifier: ItemIdentifier, to facts: ItemMetadata, baseVersion: ItemVersion,
        at path: @autoclosure () -> String?
    ) async throws(FileProviderError) -> Item {
        guard let metadata = abilities.metadata else {
            throw Self.cannot("change dates and modes without the contents")
        }
        return try await reporting(.updateMetadata, identifier, at: path) { () async throws(FileProviderError) in
            try await metadata.updateMetadata(identifier, to: facts, baseVersion: baseVersion)
        }
    }

    /// - Parameter toTrash: move the item to the store's trash, if it has one and takes this item.
    func deleteItem(
        _ identifier: ItemIdentifier, baseVersion: ItemVersion, toTrash: Bool, at path: @autoclosure () -> String?
    ) async throws(FileProviderError) {
        if toTrash, hasTrash, let trash = abilities.trash {
            do throws(FileProviderError) {
                return try await reporting(.deleteItem, identifier, at: path) { () async throws(FileProviderError) in
                    try await trash.trashItem(identifier, baseVersion: baseVersion)
                }
            } catch {
                // The trash does not take this item: delete it.
                if error.code != .unsupported { throw error }
            }
        }
        try await reporting(.deleteItem, identifier, at: path) { () async throws(FileProviderError) in
            try await provider.deleteItem(identifier, baseVersion: baseVersion)
        }
    }

    // MARK: Thumbnails

    /// Nil: the store has no thumbnail. No event. Only where it ``makesThumbnails``.
    package func thumbnail(
        of identifier: ItemIdentifier, version: ContentVersion, size: Int
    ) async throws(FileProviderError) -> Thumbnail? {
        try await abilities.thumbnails?.thumbnail(of: identifier, version: version, size: size)
    }

    func keepThumbnail(
        _ thumbnail: Thumbnail, of identifier: ItemIdentifier, version: ContentVersion,
        at path: @autoclosure () -> String?
    ) async throws(FileProviderError) {
        guard let keptThumbnails = abilities.keptThumbnails else { throw Self.cannot("keep thumbnails") }
        try await reporting(.keepThumbnail, identifier, at: path, bytes: Int64(thumbnail.bytes.count)) {
            () async throws(FileProviderError) in
            try await keptThumbnails.keepThumbnail(thumbnail, of: identifier, version: version)
        }
    }

    // MARK: Versions

    /// The versions that the store keeps of a document, those that may be shown.
    ///
    /// - Throws: `unsupported` when the store keeps none.
    package func versions(
        of identifier: ItemIdentifier, limit: Int, at path: @autoclosure () -> String?
    ) async throws(FileProviderError) -> [DocumentVersion] {
        guard let keeping = abilities.keptVersions, keeping.keepsVersions else {
            throw Self.cannot("keep versions of documents")
        }
        let found = try await reporting(.versions, identifier, at: path) { () async throws(FileProviderError) in
            try await keeping.versions(of: identifier, limit: limit)
        }
        var names: Set<String> = []
        return found.prefix(limit).filter { $0.isPossible && names.insert($0.identifier).inserted }
    }

    /// Sends a version's bytes to `sink`, and checks that all of them have come.
    package func provideVersion(
        _ version: DocumentVersion, of identifier: ItemIdentifier, into sink: some ContentSink,
        at path: @autoclosure () -> String?
    ) async throws(FileProviderError) {
        guard let keeping = abilities.keptVersions else { throw Self.cannot("keep versions of documents") }
        let whole = WholeSink(sink, size: version.size)
        try await reporting(.startProvidingVersion, identifier, at: path, bytes: version.size) {
            () async throws(FileProviderError) in
            try await keeping.startProvidingVersion(version, of: identifier, into: whole)
            try whole.finish()
        }
    }

    // MARK: Identifiers and accounts

    package func persistentIdentifierForItem(
        at url: URL, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> ItemIdentifier {
        do { return try await provider.persistentIdentifierForItem(at: url, in: domain) } catch {
            throw await topmost.verified(error)
        }
    }

    package func urlForItem(
        withPersistentIdentifier identifier: ItemIdentifier, in domain: any FileProviderDomain
    ) async throws(FileProviderError) -> URL {
        do { return try await provider.urlForItem(withPersistentIdentifier: identifier, in: domain) } catch {
            throw await topmost.verified(error)
        }
    }

    package func signOut() async { await abilities.accounts?.signOut() }

    /// The user may have signed in again.
    func credentialMayHaveChanged() {
        abilities.accounts?.credentialMayHaveChanged()
        connection.mayBeBack()
    }

    /// Releases the provider; no call may follow.
    package func invalidate() async { await (provider as? any Invalidatable)?.invalidate() }

    static func cannot(_ what: String) -> FileProviderError {
        FileProviderError(.unsupported, "the store cannot \(what)")
    }
}

extension StoreFinding {
    private static let deepest = 1_024

    fileprivate var isPossible: Bool {
        size >= 0 && !path.isEmpty && path.count <= Self.deepest && path.allSatisfy { $0.problem == nil }
    }
}

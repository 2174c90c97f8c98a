package import ContentStore
import FileProvider
import ItemCatalog
import Locking
package import Trees

/// Downloads bytes: one ``Download`` per generation, shared by all waiters.
package final class Downloader: Sendable {
    private let mount: MountState
    private let client: StoreClient
    private let remote: RemoteState
    private let reports: EventReports
    private let switches: SyncSwitches
    private let transfers: Transfers
    private let downloadFailures: DownloadFailures
    private let fetcher: FolderFetcher
    private let watch: StreamWatch
    private let records: DownloadRecords
    private let downloads = AdaptiveMutex<[GenerationID: Download]>([:])

    init(
        mount: MountState, client: StoreClient, remote: RemoteState, reports: EventReports, switches: SyncSwitches,
        transfers: Transfers, downloadFailures: DownloadFailures, fetcher: FolderFetcher
    ) {
        self.mount = mount
        self.client = client
        self.remote = remote
        self.reports = reports
        self.switches = switches
        self.transfers = transfers
        self.downloadFailures = downloadFailures
        self.fetcher = fetcher
        records = DownloadRecords(mount: mount)
        watch = StreamWatch(step: min(1, mount.times.readTimeout / 4), clock: mount.clock)
    }

    /// Returns when the range is here; the rest follows while a program has the document open.
    ///
    /// - Parameter reader: nil: not a program's read.
    /// - Throws: ``SyncError/superseded`` when the provider now has another version.
    package func provide(
        _ range: Range<Int64>, of content: ContentFile, for target: DownloadTarget, by reader: DownloadReader? = nil
    ) async throws(SyncError) {
        if switches.isMasked { throw .provider(FileProviderError(.notAuthenticated, "the user has signed out")) }
        let download = downloads.withLock { downloads in
            if let running = downloads[content.id] {
                running.enter()
                return running
            }
            downloads = downloads.filter { !$0.value.isIdle }
            let download = Download(
                mount: mount, client: client, remote: remote, reports: reports, transfers: transfers,
                downloadFailures: downloadFailures, fetcher: fetcher, watch: watch, records: records, content: content,
                target: target)
            download.enter()
            downloads[content.id] = download
            return download
        }
        defer { download.leave() }
        try await download.wait(for: range, by: reader)
    }

    /// The last program closed the generation.
    package func released(_ id: GenerationID) {
        let download = downloads.withLock { downloads in
            let download = downloads[id]
            if download?.isIdle == true { downloads[id] = nil }
            return download
        }
        download?.cancelUnwanted()
    }

    /// Whether any reader waits for bytes of the generation.
    func isAwaited(_ id: GenerationID) -> Bool { downloads.withLock { $0[id] }?.isAwaited == true }

    /// The generation was deleted: drops its download.
    func forget(_ id: GenerationID) {
        let download = downloads.withLock { $0.removeValue(forKey: id) }
        download?.cancelUnwanted()
    }

    /// Records in the catalog the bytes that have come so far.
    ///
    /// - Parameter inode: of running downloads, only this document's; nil: all.
    func recordNow(_ inode: InodeID? = nil) {
        let wanted = downloads.withLock { $0.values.filter { inode == nil || $0.target.inode == inode } }
        for download in wanted { download.noteIfUnrecorded() }
        records.recordNow()
    }

    // MARK: Whole documents

    /// Downloads all of a document. Returns the number of bytes that came.
    ///
    /// - Parameter asker: for people: the program that wants the document.
    package func downloadWhole(_ id: InodeID, for asker: CausingProcess? = nil) async throws(SyncError) -> Int64 {
        // Starts again if the document is replaced meanwhile.
        for _ in 0..<5 {
            do { return try await downloadCurrent(id, asker) } catch SyncError.superseded { continue }
        }
        throw .superseded
    }

    private func downloadCurrent(_ id: InodeID, _ asker: CausingProcess?) async throws(SyncError) -> Int64 {
        do {
            let (inode, item) = try mount.catalog.read { (try $0.inode(id), try $0.item(of: id)) }
            guard inode.kind == .document, inode.extents != nil else { return 0 }
            // An error: with "nothing to do", a caller that needs the bytes would ask again at once, for ever.
            guard let item, let identifier = item.identifier, let version = item.baseVersion else {
                throw Download.isGone
            }
            let (opened, content) = try mount.openCurrent(id)
            guard opened.generation == inode.generation else { throw SyncError.superseded }
            let missing = content.missing(in: 0..<content.baseSize).reduce(0) { $0 + Int64($1.count) }
            try await provide(
                0..<content.baseSize, of: content,
                for: DownloadTarget(
                    inode: id, identifier: identifier, version: version.content, name: mount.path(of: item)),
                by: asker.map { .process($0) })
            return missing
        } catch {
            throw SyncError(error)
        }
    }
}

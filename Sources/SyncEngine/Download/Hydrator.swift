package import ContentStore
import Synchronization

/// Brings bytes here: one ``Download`` for each generation, shared by all who wait for it.
package final class Hydrator: Sendable {
    private let context: SyncContext
    private let fetcher: FolderFetcher
    private let downloads = Mutex<[GenerationID: Download]>([:])

    init(context: SyncContext, fetcher: FolderFetcher) {
        self.context = context
        self.fetcher = fetcher
    }

    /// Returns when the range is here; the rest follows while some program has the document open.
    ///
    /// - Throws: ``SyncError/superseded`` when the provider has another version by now.
    package func provide(_ range: Range<Int64>, of content: ContentFile, for target: DownloadTarget)
        async throws(SyncError)
    {
        let download = downloads.withLock { downloads in
            if let running = downloads[content.id] { return running }
            downloads = downloads.filter { !$0.value.isIdle }
            let download = Download(context: context, fetcher: fetcher, content: content, target: target)
            downloads[content.id] = download
            return download
        }
        try await download.wait(for: range)
    }

    /// The last program let go of the generation.
    package func released(_ id: GenerationID) {
        let download = downloads.withLock { downloads in
            let download = downloads[id]
            if download?.isIdle == true { downloads[id] = nil }
            return download
        }
        download?.cancelUnwanted()
    }
}

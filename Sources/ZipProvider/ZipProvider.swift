import FileProvider

/// A ZIP archive as a folder, read only: what is in it is shown at once, and unpacked when it is read.
///
/// The hooks only look things up; whatever touches the archive happens in ``Archive``, on a thread of its own.
struct ZipProvider: ReadOnlyFileProvider, ChangeSignaling {
    private let archive: Archive
    /// The archive in the state in which it was first seen.
    private let first: ArchiveStamp
    /// How long after the archive was replaced it is noticed at the latest.
    private let pollInterval: Duration

    /// Opens the archive.
    ///
    /// - Throws: why it cannot be shown, in words for the user: it is not there, is no archive, or is cut off.
    init(path: String, pollInterval: Duration = .seconds(1)) async throws(FileProviderError) {
        archive = Archive(path: path)
        first = try await archive.stamp()
        self.pollInterval = pollInterval
    }

    func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item {
        try await archive.node(identifier).item
    }

    /// All of a folder on one page: the archive's table of contents is in memory anyway.
    func enumerateItems(in folder: ItemIdentifier, startingAt _: Page?) async throws(FileProviderError) -> ItemPage {
        ItemPage(items: try await archive.items(in: folder))
    }

    func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(FileProviderError) {
        try await archive.send(identifier, version: version, range: range, into: sink)
    }

    /// An archive changes as a whole: somebody replaced it. While it cannot be opened (it is gone, or half written)
    /// nothing is said, and what was listed before stays.
    func changeSignals() -> AsyncStream<ChangeSignal> {
        AsyncStream { continuation in
            let watch = Task {
                var last = first
                while (try? await Task.sleep(for: pollInterval)) != nil {
                    guard let now = try? await archive.stamp(), now != last else { continue }
                    last = now
                    continuation.yield(.everything)
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in watch.cancel() }
        }
    }
}

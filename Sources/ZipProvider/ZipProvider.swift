import FileProvider

/// A ZIP archive as a read-only folder: documents show at once, and are unpacked on reading.
///
/// The hooks only look things up; ``Archive`` does all work on the archive, on a thread of its own.
struct ZipProvider: ReadOnlyFileProvider, ChangeSignaling {
    private let archive: Archive
    /// The archive as it was first seen.
    private let first: ArchiveStamp
    /// The longest time after which a replaced archive is noticed.
    private let pollInterval: Duration

    /// Opens the archive.
    ///
    /// - Throws: why it cannot be shown, in words for the user: it is missing, not an archive, or cut off.
    init(path: String, pollInterval: Duration = .seconds(1)) async throws(FileProviderError) {
        archive = Archive(path: path)
        first = try await archive.stamp()
        self.pollInterval = pollInterval
    }

    func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item {
        try await archive.node(identifier).item
    }

    /// A whole folder on one page: the central directory is in memory anyway.
    func enumerateItems(in folder: ItemIdentifier, startingAt _: Page?) async throws(FileProviderError) -> ItemPage {
        ItemPage(items: try await archive.items(in: folder))
    }

    func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(FileProviderError) {
        try await archive.send(identifier, version: version, range: range, into: sink)
    }

    /// An archive changes as a whole, when it is replaced. While it cannot be opened (it is gone, or half written) no
    /// signal is sent, and earlier listings stay.
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

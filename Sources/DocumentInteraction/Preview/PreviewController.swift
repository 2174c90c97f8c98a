public import Foundation
import Synchronization

/// A document to be previewed.
public struct PreviewItem: Sendable, Hashable {
    /// Where it is.
    public var url: URL
    /// Nil: its name.
    public var title: String?

    /// See the properties.
    public init(url: URL, title: String? = nil) {
        self.url = url
        self.title = title
    }
}

/// Previews of one document or of several, one after another.
///
/// Source: Apple, `QLPreviewController`.
public final class PreviewController: Sendable {
    /// What there is to see.
    public let items: [PreviewItem]
    private let current = Mutex(0)

    /// See ``items``.
    public init(items: [PreviewItem]) { self.items = items }

    /// How many documents there are.
    public var count: Int { items.count }

    /// Which of them is shown, from 0.
    public var index: Int { current.withLock { $0 } }

    /// Of the one that is shown: what the program says, or its name.
    public var title: String {
        guard items.indices.contains(index) else { return "" }
        return items[index].title ?? items[index].url.lastPathComponent
    }

    /// Shows the next one. False: this was the last.
    @discardableResult
    public func next() -> Bool { go(to: index + 1) }

    /// Shows the one before. False: this was the first.
    @discardableResult
    public func previous() -> Bool { go(to: index - 1) }

    /// Shows this one. False: there is none of this number.
    @discardableResult
    public func go(to index: Int) -> Bool {
        guard items.indices.contains(index) else { return false }
        current.withLock { $0 = index }
        return true
    }

    /// Of the one that is shown.
    ///
    /// - Throws: as ``DocumentInteractionController/preview(title:progress:)``.
    public func preview(progress: (@Sendable (DownloadProgress) -> Void)? = nil) async throws -> Preview {
        guard items.indices.contains(index) else {
            throw DocumentInteractionError(.nothingToShow, "there is no document to preview")
        }
        let item = items[index]
        return try await DocumentInteractionController(url: item.url).preview(title: item.title, progress: progress)
    }
}
